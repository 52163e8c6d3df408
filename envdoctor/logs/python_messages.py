"""Messages of Python that any code can raise: what is certain of each, and where to look. Told where nothing more was found."""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

PYTHON = (
    StatedMessage(
        r"argument of type 'NoneType' is not iterable"
        r"|'NoneType' object (?:is not (?P<how>subscriptable|iterable|callable)|has no attribute '(?P<name>\w{1,80})')",
        "The code works on None, where a value should have come",
        "a file or an image that could not be read (cv2.imread), a setting that is null, a model or tokenizer that was not found, or a "
        "function that returns nothing in this case",
        "the line above names what was None: follow it back to where it is made, and print it there",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"'(?P<got>list|tuple|dict|str|int|float|bool|set|OrderedDict"
        r"|collections\.OrderedDict)' object has no attribute '(?P<name>state_dict|eval|to|cuda|train|parameters|items|keys|values"
        r"|get|shape|size|dim|append|"
        r"dtype|device|logits|loss|input_ids|copy|update|detach|cpu|numpy|unsqueeze|pixel_values|backward|squeeze|save|format|config)'",
        "A {got} came where an object with .{name} is wanted",
        "a state_dict in place of a model, a list in place of a dictionary (a JSON file of another form), a batch that was not made "
        "tensors, a "
        "tuple that a model returns (return_dict), or a path in place of what is loaded from it",
        "print type(x) before the line above: load or convert it to what is wanted there",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"string indices must be integers|list indices must be integers or slices, not str"
        r"|tuple indices must be integers or slices, not str",
        "A field is asked of a text or a list, where a dictionary should have come",
        "the JSON has another form than the code reads (a list around the object, texts in place of objects), or a batch of columns is "
        "walked through as if it were rows",
        "print one item before the line above, and bring the data into the form that the project describes",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"(?:list|tuple|string) index out of range|index \d{1,12} is out of bounds for axis \d|pop from empty list",
        "An item is asked for that the list does not have",
        "the list is empty or shorter than the code counts on: a folder without files, a line with fewer fields, a path with fewer "
        "parts, or "
        "an argument that was left out",
        "print the list and its length before the line above",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"(?:integer |float )?(?:division|modulo) (?:or modulo )?by zero|float division by zero",
        "A count is zero that is divided by",
        "an empty data set or loader (fewer rows than a batch with drop_last), no steps in an epoch, or a length of 0",
        "print the divisor in the line above: the number of rows, steps, processes or tokens",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"maximum recursion depth exceeded",
        "A function calls itself without end",
        "an attribute that __getattr__ looks up in itself (a tokenizer or a wrapped model that is not fully made), two special "
        "tokens that "
        "stand for each other, or very deep data",
        "the frames that repeat name the function; the tokenizer or the configuration that came with the model, whole",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"(?:can only concatenate (?:str|list) \(not \"(?P<got>[\w.]{1,40})\"\)"
        r"|unsupported operand type\(s\) for (?P<sign>\S{1,3}): '(?P<a>[\w.]{1,40})' and '(?P<b>[\w.]{1,40})'"
        r"|'(?P<less><=?|>=?)' not supported between instances of '(?P<c>[\w.]{1,40})' and '(?P<d>[\w.]{1,40})')",
        "Two values of types that do not go together are computed with: {a}{c}{got} and {b}{d}",
        "a number that a configuration or a command line gives as text (YAML reads 1e-5 as one: write 1.0e-5), a value that is "
        "missing (None, "
        "NaN), or a setting of another form",
        "print both values of the line above; make the setting a number, or fill what is missing",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"unhashable type: '(?P<kind>list|dict|set|numpy\.ndarray|slice)'",
        "A {kind} is used as a key or put into a set",
        "a field of the data or of the settings holds a {kind} where one text or number is wanted",
        "print it at the line above, and take its parts (tuple, or the one value)",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"too many values to unpack \(expected (?P<want>\d{1,3})\)",
        "More than {want} values came where {want} are wanted",
        "a line of a list has more fields, a model or a function returns more than it did in the release that the code was written "
        "for, or a "
        "dictionary is walked through without .items()",
        "print what comes before that line; bring the caller and what it calls to one state",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"^KeyError: ['\"](?P<name>[\w.-]*\.(?:weight|bias|[\w-]*\.[\w.-]*))['\"]$",
        "What was loaded has no weight of the name {name}",
        "a checkpoint of another model, of another training code or release, or one that holds its weights a level deeper (model, "
        "state_dict, "
        "module.)",
        "print list(state_dict)[:20] before the line above, and load the file that this code was made for",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"^KeyError: ['\"](?P<name>[a-z][A-Za-z0-9_]{1,60})['\"]$",
        "A dictionary has no key {name}",
        "a setting that the configuration lacks, a column of the data of another name, or an answer of another form: the line above "
        "the error, "
        "which is not here, tells which",
        "add {name} where that line reads it from (the configuration, the columns of the data), or rename what stands there",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"^(?:TypeError: )?(?P<name>[A-Za-z_][\w.]{1,80})\(\) missing (?P<many>\d{1,2}) required (?:positional|keyword-only) arguments?: "
        r"(?P<what>.{1,120})$",
        "{name} is called without {what}, which it asks for",
        "who calls it and the function are of two states of the project or of two releases, or it was called on a class and not on an "
        "object",
        "call it as its definition says (help({name})), or take the code of the caller and of the function from one state",
        sure=False,
    ),
)
