"""Messages of file formats: JSON, YAML, text encodings, pickles, images and sounds, with the place that the message states.

The sentences are those of Python's json, codecs and pickle, of PyYAML, Pillow and libsndfile, the same in all their releases.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_AT = r": line (?P<line>\d{1,9}) column (?P<column>\d{1,9}) \(char \d{1,12}\)"
_LOOK = "the frame above names the file: python -m json.tool FILE shows the same place"

FORMATS = (
    StatedMessage(
        r"Invalid \\{1,2}(?:u[0-9XY]{0,8} )?escape" + _AT,
        "The JSON file has a single backslash in line {line}, column {column}",
        "a Windows path: JSON wants C:\\\\data or C:/data",
        "write the path with forward slashes, or each backslash twice",
        given=True,
    ),
    StatedMessage(
        r"Extra data" + _AT,
        "The JSON text ends before line {line}, column {column}, and more follows",
        "a file of JSON lines (one object to a line) is read as one, or two texts were written one behind the other",
        "read it line by line (lines=True in pandas, .jsonl), or make one list of it",
        given=True,
    ),
    StatedMessage(
        r"(?:Expecting property name enclosed in double quotes|Illegal trailing comma before end of (?:object|array))" + _AT,
        "The JSON text is not valid in line {line}, column {column}: a name in double quotes is wanted there",
        "a comma behind the last entry, single quotes, a comment, or Python's own way of writing (a model's answer, str(dict))",
        _LOOK + "; remove the comma or the comment, write double quotes (json.dumps, or ast.literal_eval to read Python's)",
        given=True,
    ),
    StatedMessage(
        r"Expecting (?P<sign>',' delimiter|':' delimiter)" + _AT,
        "The JSON text is not valid in line {line}, column {column}: a {sign} is wanted there",
        "a comma is missing, a quote inside a text has no backslash before it, or the file is cut",
        _LOOK,
        given=True,
    ),
    StatedMessage(
        r"Expecting value: line (?P<line>\d{1,9}) column (?P<column>\d{1,9}) \(char (?!0\))\d{1,12}\)",
        "The JSON text is not valid in line {line}, column {column}: no value stands there that JSON knows",
        "True, False, None or NaN in Python's spelling, a comma behind the last entry, a blank line among JSON lines, or a file that "
        "is cut",
        _LOOK + "; true, false, null in JSON",
        given=True,
    ),
    StatedMessage(
        r"(?:Unterminated string starting at|Invalid control character at)" + _AT,
        "A text in the JSON that begins or breaks off in line {line}, column {column} has no proper end",
        "the file is cut (a download, a full disk, a run that was ended while it wrote), or a line break stands inside a text",
        "fetch or write the file again; a line break inside a text is \\n",
        given=True,
    ),
    StatedMessage(
        r"could not determine a constructor for the tag ['\"]?(?P<tag>![^'\"\s]{1,80})",
        "The YAML file has the tag {tag}, which the loader that reads it does not know",
        "the file is for a loader of its own (!new:, !name: and !ref are HyperPyYAML's, others are the project's classes), and plain "
        "yaml "
        "reads it, or the module that registers the tag was not imported",
        "read it as the project does (hyperpyyaml.load_hyperpyyaml), or pass the file that the command wants in its place",
        given=True,
    ),
    StatedMessage(
        r"could not determine a constructor for the tag ['\"]?(?P<tag>tag:yaml\.org,2002:python/[^'\"\s]{1,80})",
        "The YAML file holds an object of Python ({tag}), which safe loading refuses",
        "the file was dumped by yaml.dump of an object, or is for a PyYAML before 5.1",
        "yaml.load(f, Loader=yaml.UnsafeLoader) for a file that you trust; better plain values in it",
        given=True,
    ),
    StatedMessage(
        r"found character '\\t' that cannot start any token|mapping values are not allowed (?:here|in this context)"
        r"|expected <block end>, but found|expected '<document start>', but found|could not find expected ':'"
        r"|while (?:scanning|parsing) a (?:simple key|block mapping|quoted scalar|flow sequence|flow mapping)|ScannerError"
        r"|ParserError: (?:while|expected)",
        "The YAML file is not valid",
        "a tab where blanks are wanted, entries that are indented unlike, a colon or a quote in a text without quotes, or no YAML at all",
        "the message states the line and column: indent with blanks, and put texts with : or # into quotes",
        given=True,
    ),
    StatedMessage(
        r"'utf-?8' codec can't decode byte 0x80 in position (?P<at>[0-9]): ",
        "A binary file is read as text: it begins as a pickle, or a file of weights of torch",
        "a path to weights where a configuration or a list is wanted, or a loader that takes another form of weights",
        "pass the text file that is wanted; load weights with torch.load",
        given=True,
    ),
    StatedMessage(
        r"'utf-?8' codec can't decode byte 0x(?P<byte>ff|fe) in position 0: ",
        "The file is no UTF-8: it begins as UTF-16 does, which Windows (PowerShell's >) writes, or as a JPEG",
        "",
        "save it as UTF-8, or open it with encoding='utf-16'; where an image was meant, open it as one",
        given=True,
    ),
    StatedMessage(
        r"'utf-?8' codec can't decode byte 0x(?P<byte>[0-9a-f]{2}) in position (?P<at>\d{1,12})",
        "A file is read as UTF-8 and is none: byte 0x{byte} at position {at}",
        "a binary file (weights, an archive, an image, .DS_Store), or a text in another encoding (Windows' cp1252, GBK)",
        "file NAME says what it is; a text is read with its own encoding=, or saved anew as UTF-8",
        given=True,
    ),
    StatedMessage(
        r"\(unicode error\) 'unicodeescape' codec can't decode|truncated \\[UuNx]X*",
        "A path of Windows stands in Python code with single backslashes: \\U and \\N begin a sign there",
        "",
        "r'C:\\Users\\...', forward slashes, or each backslash twice",
        given=True,
    ),
    StatedMessage(
        r"Can't pickle (?:local object|<function) ?['\"]?(?P<what>[^'\"]{1,120}?)(?:['\"]| at 0x|: )"
        r"|Can't get local object '(?P<other>[^']{1,120})'",
        "{what}{other} is to be handed to another process, and Python cannot pickle it",
        "a lambda or a function inside a function as collate_fn, transform or map; Windows and macOS start workers by pickling",
        "move it to the top of a module (or functools.partial of such a one), or num_workers=0, num_proc=1",
        given=True,
    ),
    StatedMessage(
        r"cannot pickle '(?P<what>[\w.]{1,80})' object|can't pickle (?P<other>[\w.]{1,80}) objects",
        "An object that holds a {what}{other} is to be handed to another process or copied, and Python cannot pickle that",
        "a dataset, tokenizer or config that keeps an open file, a connection, a lock or a module, with workers (num_workers, num_proc, "
        "spawn)",
        "open it in the worker (in __getitem__) in place of __init__, or num_workers=0, num_proc=1",
        given=True,
    ),
    StatedMessage(
        r"Can't get attribute '(?P<name>\w{1,80})' on <module '__(?:main|mp_main)__'",
        "A file was pickled whole by a script in which {name} was defined, and this script has none",
        "torch.save(model) and pickle keep the class by the name of its module, here __main__",
        "import or define {name} in the script that loads it; save state_dict() in its place",
        given=True,
    ),
    StatedMessage(
        r"cannot identify image file (?P<file>['\"<][^>'\"]{0,200})",
        "The file is no image that Pillow can read",
        "empty or cut, a page of HTML in place of the download, a pointer of git-lfs, another kind of file in the folder, or a form that "
        "needs a plugin (HEIC, AVIF)",
        "file NAME says what it is: remove it from the data, or fetch it again",
        given=True,
    ),
    StatedMessage(
        r"image file is truncated(?: \((?P<left>\d{1,9}) bytes not processed\))?|broken data stream when reading image file",
        "An image of the data is cut",
        "a download or a copy that broke off",
        "find it by opening all of them once (Image.open(f).load()) and fetch it again; or ImageFile.LOAD_TRUNCATED_IMAGES = True",
        given=True,
    ),
    StatedMessage(
        r"Error opening (?P<file>\S.{0,200}?): (?:System error|File does not exist)",
        "libsndfile could not open the sound file {file}",
        "there is no such file: the list names another folder, or the data is there in part",
        "compare the path with the folder; a relative one counts from where the program was started",
        given=True,
    ),
    StatedMessage(
        r"BadZipFile|File is not a zip file|not a gzip file|Not a gzipped file|ReadError: (?:not a gzip|unexpected end)"
        r"|Compressed file ended before",
        "An archive is cut, or is none",
        "a download that broke off, a page of HTML (a login, a quota of Google Drive) or a pointer of git-lfs in its place",
        "ls -l and file NAME on it; remove it from the cache and fetch it again",
        given=True,
    ),
    StatedMessage(
        r"No module named '?(?P<name>_lzma|_bz2|_ctypes|_sqlite3|_ssl|_tkinter|readline|_zlib|zlib)'?",
        "This Python was compiled without {name}: the library's headers were not there when it was built",
        "pyenv and builds from source leave out what they do not find",
        "apt-get install liblzma-dev libbz2-dev libffi-dev libsqlite3-dev libssl-dev tk-dev zlib1g-dev, then build that Python again; or "
        "another Python (conda, uv)",
    ),
)
