"""What it means that one of Python's plain objects, a tensor, an array or a model's output is asked for an attribute of another kind."""

from __future__ import annotations

import re

from envdoctor.records import dataclass

OF_TENSOR = frozenset(
    ("shape", "size", "dtype", "device", "to", "cuda", "cpu", "view", "reshape", "contiguous", "unsqueeze", "squeeze", "dim", "ndim",
     "permute", "transpose", "item", "backward", "detach", "numpy", "half", "bfloat16", "long", "mean", "argmax", "softmax", "log_softmax",
     "clone", "numel", "expand", "requires_grad", "requires_grad_", "new_zeros", "new_ones", "masked_fill", "chunk", "tolist", "norm",
     "sum",
     "max", "min", "flatten", "type_as", "repeat", "repeat_interleave", "gather", "std", "abs", "sigmoid", "astype", "T", "logsumexp",
     "index_select", "narrow", "unbind", "unflatten", "is_cuda", "grad", "element_size", "data_ptr", "untyped_storage")
)  # fmt: skip
_OF_ARRAYS = frozenset(("shape", "size", "dtype", "ndim", "astype", "T", "mean", "max", "min", "sum", "reshape", "flatten", "tolist"))
_OF_TENSORS_ALONE = frozenset(
    ("to", "cuda", "cpu", "unsqueeze", "detach", "dim", "permute", "view_as", "device", "numpy", "backward", "float", "long", "half",
     "requires_grad", "requires_grad_", "contiguous", "expand", "numel", "clone", "masked_fill", "softmax", "type_as")
)  # fmt: skip
OF_OUTPUT = frozenset(
    ("logits", "loss", "hidden_states", "last_hidden_state", "past_key_values", "attentions", "pooler_output", "to_tuple", "sequences",
     "encoder_last_hidden_state", "image_embeds", "text_embeds", "sample", "latent_dist", "prev_sample", "images", "aux_loss", "scores")
)  # fmt: skip
OF_DICT = frozenset(("keys", "items", "values", "get", "update", "setdefault", "pop"))
OF_MODEL = frozenset(
    ("parameters", "named_parameters", "eval", "train", "state_dict", "named_modules", "modules", "generate", "config", "forward",
     "load_state_dict", "save_pretrained", "generation_config", "print_trainable_parameters", "get_input_embeddings", "to", "cuda",
     "enable_input_require_grads", "gradient_checkpointing_enable", "resize_token_embeddings", "peft_config")
)  # fmt: skip
OF_TOKENIZER = frozenset(
    ("pad_token", "pad_token_id", "eos_token", "eos_token_id", "bos_token", "bos_token_id", "unk_token", "padding_side", "tokenize",
     "batch_decode", "convert_tokens_to_ids", "apply_chat_template", "model_max_length", "vocab_size", "tokenizer", "image_processor")
)  # fmt: skip
_OF_SETTINGS = frozenset(
    ("model_type", "to_dict", "hidden_size", "vocab_size", "architectures", "num_hidden_layers", "num_attention_heads", "torch_dtype",
     "to_diff_dict", "quant_method", "num_labels", "use_cache", "is_encoder_decoder", "text_config", "vision_config", "rope_theta",
     "get_text_config")
)  # fmt: skip
_OF_PATH = frozenset(
    ("exists", "joinpath", "parent", "parents", "mkdir", "stem", "suffix", "is_dir", "is_file", "glob", "open", "as_posix")
)
OF_TEXT = frozenset(("split", "strip", "lower", "upper", "startswith", "endswith", "encode", "decode", "rstrip", "lstrip", "splitlines"))
OF_DATASETS = frozenset(
    ("map", "column_names", "features", "select", "train_test_split", "remove_columns", "rename_column", "set_format", "with_format",
     "to_pandas", "num_rows", "select_columns", "add_column", "shard")
)  # fmt: skip
_OF_LISTS = frozenset(("append", "extend", "index", "count", "sort", "copy", "pop", "insert"))
_OF_BATCH = frozenset(("input_ids", "attention_mask", "pixel_values", "labels", "token_type_ids", "data", "ids"))
_NUMBERS = frozenset(("int", "float", "bool"))
_PICTURE = re.compile(r"Image(?:File)?$")
_LAZY = frozenset(("generator", "map", "filter", "zip", "dict_keys", "dict_values", "dict_items", "odict_keys", "odict_values", "range"))
_CALLABLE = frozenset(("function", "method", "builtin_function_or_method", "type", "functools.partial", "partial"))
BATCHES = frozenset(("BatchEncoding", "BatchFeature"))
MODEL_OUTPUT = re.compile(r"Output(?:With[A-Z]\w{1,80})?(?:V2|V3)?$")


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of an object of one kind that was taken for another one. ``{it}`` is its name in the line, ``{name}`` what is asked."""

    means: str
    behind: str
    advice: str
    package: str = ""
    pins: tuple[tuple[str, str], ...] = ()
    sure: bool = True


def kind_of(cls: str, name: str) -> Told | None:
    if MODEL_OUTPUT.search(cls) and len(cls) > len("Output"):
        return _WHOLE_OUTPUT if name in OF_TENSOR else None
    if cls in BATCHES:
        return _OF_ENCODING if name in OF_TENSOR else None
    if name in OF_DATASETS and cls in _ROWS:
        return _ROWS[cls]
    if cls.endswith("Cache") and len(cls) > len("Cache"):
        return _OF_CACHE if name in OF_TENSOR else None
    if cls == "tuple":
        return _of_tuple(name)
    if cls == "Column":
        return _OF_COLUMN if name in OF_TENSOR or name in _OF_LISTS else None
    if cls == "Tensor":
        return _of_tensor(name)
    if cls == "ndarray":
        return _of_array(name)
    if _PICTURE.search(cls):
        return _OF_PICTURE if name in OF_TENSOR else None
    if cls in _LAZY:
        return _OF_LAZY
    if cls in _CALLABLE:
        return None if cls == "type" else _OF_CALLABLE
    if cls in ("dict", "OrderedDict"):
        return _of_dict(name)
    if cls in _NUMBERS:
        return _of_number(cls, name)
    if cls in ("list", "set"):
        return _of_list(name)
    return _of_text(name) if cls in ("str", "bytes") else None


def _of_tuple(name: str) -> Told | None:
    if name == "backward":
        return Told(
            "a model's output is a tuple, and the loss is one part of it",
            "with labels the loss comes first; code of before took the output for the loss",
            "{it} = {it}[0] before that line (outputs.loss, where the output has names)",
        )
    if name == "to_tuple":
        return Told(
            "the output is a tuple already, and transformers wants to make one of it",
            "return_dict=False (an argument, or in the configuration) makes the inner part return one",
            "leave out return_dict=False; or a release of transformers before or after, where it came with an update",
            "transformers",
        )
    if name in OF_OUTPUT:
        return Told(
            "the model gave a tuple, whose parts have no names, and {name} is asked of it",
            "return_dict=False stands in the call or in the configuration (torchscript does the same), a part of the model is called "
            "without "
            "it, or transformers is one before 4.0, whose models gave tuples",
            "return_dict=True in that call and in the configuration; or by place: outputs[0] is the loss where labels are given, else the "
            "logits or the hidden states",
            "transformers",
        )
    if name in OF_TENSOR:
        return Told(
            "a tuple stands where one tensor is asked for .{name}",
            "layers and models give several things at once (the hidden states first, then attentions or the cache); a layer that was "
            "wrapped, "
            "patched or hooked gives a tuple where its caller takes the tensor alone, or the other way round, and transformers has "
            "changed what "
            "decoder layers give",
            "take its first part ({it}[0]) before that line, or return the tensor alone in the layer that the project replaces; else the "
            "transformers that the code was written for",
        )
    return None


def _of_tensor(name: str) -> Told | None:
    if name in OF_OUTPUT:
        return Told(
            "the model gives a tensor itself, and {name} is asked of it",
            "a plain torch module, or a wrapper, stands where a model of transformers is wanted, whose output has names",
            "use the tensor itself there; or let forward return an output with {name} (transformers.modeling_outputs), as the Trainer and "
            "evaluation code take it",
        )
    if name in OF_DICT or name in _OF_BATCH:
        return Told(
            "a tensor stands where a batch or a dictionary with {name} is wanted",
            "the loader, a slice (batch[0]) or a model gave the tensor alone",
            "hand on the whole dictionary ({{'input_ids': ..., 'attention_mask': ...}}), or leave out .{name} where the tensor is meant",
        )
    if name in ("astype", "copy", "append", "asnumpy", "eval_frame", "tostring", "tobytes", "convert", "save"):
        how = {"astype": "{it}.to(torch.float32) (its dtype)", "copy": "{it}.clone()", "append": "a list, and torch.stack of it at the end"}
        return Told(
            "a tensor is used as a NumPy array, a list or an image",
            "{name} is not a method of torch's tensors",
            how.get(name, "{it}.detach().cpu().numpy() before that line"),
        )
    return None


def _of_array(name: str) -> Told | None:
    if name in _OF_TENSORS_ALONE:
        return Told(
            "a NumPy array stands where a torch tensor is asked for .{name}",
            "a data set, a transform or a metric gave an array",
            "torch.from_numpy({it}) (torch.as_tensor) before that line; where the array is what is wanted, leave out .{name}",
        )
    if name == "append":
        return Told("an array has no append", "arrays do not grow", "a list there and np.array(...) of it at the end, or np.append(a, b)")
    if name in ("convert", "crop", "resize_", "getbands", "mode", "save", "filter", "paste", "thumbnail"):
        return Told(
            "a NumPy array stands where an image of Pillow is asked for .{name}",
            "OpenCV, imageio and video readers give arrays",
            "Image.fromarray({it}) before that line",
        )
    return None


def _of_dict(name: str) -> Told | None:
    if name in _OF_SETTINGS:
        return Told(
            "a plain dictionary stands where an object of settings is asked for .{name}",
            "a part of the configuration (text_config, vision_config, quantization_config) was given or kept as a dictionary, where this "
            "code "
            "wants the class; a model that is newer than the transformers that runs is read so",
            '{it}["{name}"], or make the object of it first (its class\'s from_dict, CONFIG_CLASS(**{it}))',
        )
    if name in OF_OUTPUT or name in _OF_BATCH or name in OF_TENSOR:
        return Told(
            "a dictionary stands where {name} is asked for by a dot",
            "it has no attributes: what it holds is behind its keys",
            '{it}["{name}"]' if name not in OF_TENSOR else "the tensor that is meant out of it ({it}[KEY].{name}); print its keys there",
        )
    if name in OF_MODEL:
        return Told(
            "a state_dict, or a checkpoint, stands where the model itself is asked for .{name}",
            "torch.load gives what was saved: mostly the weights alone, in a dictionary",
            "make the model first and model.load_state_dict({it}) then (the weights may lie deeper: print its keys); or from_pretrained "
            "for a "
            "folder that save_pretrained wrote",
        )
    if name == "append":
        return Told("a dictionary has no append", "a list is wanted there", "a list, or {it}.setdefault(KEY, []).append(...)")
    return None


def _of_number(cls: str, name: str) -> Told | None:
    if cls == "bool" and name in OF_TENSOR:
        return Told(
            "a comparison gave one bool where an array of them is asked for .{name}",
            "a == b of things that cannot be compared element by element (lists, a tensor and a list, arrays of other shapes, None) is one "
            "True or False",
            "make both sides tensors or arrays of one shape first (torch.as_tensor, np.asarray)",
        )
    if name == "backward":
        return Told(
            "the loss is a plain number, from which no gradient leads back",
            "a loss that was added up from 0 where no row or no term was there, or .item() was taken before",
            "keep the loss as a tensor (no .item(), start with torch.zeros((), device=...)), and look why no term was added",
        )
    if name in OF_TENSOR:
        return Told(
            "a plain number stands where a tensor is asked for .{name}",
            "a sum over nothing is the number 0; .item(), len() and a setting are numbers too",
            "torch.tensor({it}, device=...) where a tensor is needed; else leave out .{name}",
        )
    if name in OF_TEXT:
        return Told(
            "a number stands where a text is asked for .{name}()",
            "YAML, JSON and tables read 007, 1e5, yes and empty cells as numbers (an empty cell is NaN, a float)",
            "str({it}), quotes around it in the file, dtype=str where the table is read, or rows without it left out",
        )
    if name in OF_DICT:
        return Told(
            "a number stands where a dictionary is wanted",
            "a setting that is one value and not a table",
            "print it there, and write the settings as the project's example has them",
        )
    return None


def _of_list(name: str) -> Told | None:
    if name in ("keys", "items", "values", "get"):
        return Told(
            "a list stands where a dictionary is asked for .{name}()",
            "a JSON file (or an answer) whose outermost part is a list of rows; a setting that one release writes as a list and another "
            "reads "
            "as a table (extra_special_tokens of transformers 5, read by 4)",
            "take one of its items ({it}[0]), or go through them; where a package asks it, the release that wrote the file",
        )
    if name in _OF_ARRAYS and name not in ("size",):
        return Told(
            "a list stands where an array or a tensor is asked for .{name}",
            "a tokenizer without return_tensors, a data set without set_format, or rows that were only collected give lists",
            "np.array({it}) or torch.tensor({it}); torch.stack({it}) for a list of tensors; return_tensors='pt' where a tokenizer made it",
        )
    if name in OF_TENSOR:
        return Told(
            "a list stands where a tensor is asked for .{name}",
            "rows that were not made one batch: a tokenizer without return_tensors='pt', a data set without set_format('torch'), a "
            "collate_fn "
            "that leaves lists, or a model that gives several outputs",
            "torch.tensor({it}) (torch.stack for a list of tensors); or each of them: [x.{name}(...) for x in {it}]",
        )
    if name in OF_TEXT:
        return Told(
            "a list stands where a text is asked for .{name}()",
            "a batch (several texts at once), or a message whose content is a list of parts",
            "go through its items, or join them; a map over rows with batched=True is given lists",
        )
    if name in OF_MODEL or name in OF_OUTPUT:
        return Told(
            "a list stands where one object is asked for .{name}", "several were made or loaded at once", "take one of them: {it}[0]"
        )
    return None


def _of_text(name: str) -> Told | None:
    if name in ("dim", "size", "shape"):
        return Told(
            "a text stands where a tensor is asked for .{name}",
            "two names that are set to the output of a model (a, b = model(...)) get the names of its fields, since transformers 4 gives "
            "an "
            "object with names and no tuple; or a column of texts was put into the batch",
            "outputs = model(...), then outputs.last_hidden_state and outputs.pooler_output; or return_dict=False in that call",
        )
    if name in OF_DICT:
        return Told(
            "a text stands where a dictionary is asked for .{name}",
            "a text in JSON that nobody parsed, a row that is a plain line, or a loop over a dictionary, which gives its keys",
            "json.loads({it}) where it is JSON; .items() where the loop wants both; else bring the rows into the form that the code reads",
        )
    if name in OF_TOKENIZER - {"tokenize"}:
        return Told(
            "the name of a model or a tokenizer stands where the tokenizer itself is asked for .{name}",
            "it was passed before it was loaded, or at the place of another argument",
            "AutoTokenizer.from_pretrained({it}) (AutoProcessor for a processor), passed by its name: processing_class=..., tokenizer=...",
        )
    if name in OF_MODEL - {"to", "cuda"} or name in _OF_SETTINGS:
        return Told(
            "a name or a path stands where the object itself is asked for .{name}",
            "it was passed before it was loaded, or at the place of another argument",
            "load it first (from_pretrained({it})), and pass arguments by their names",
        )
    if name in _OF_PATH:
        return Told("a text stands where a pathlib.Path is asked for .{name}", "", "Path({it}) before that line (from pathlib import Path)")
    if name in OF_TENSOR:
        return Told(
            "a text stands where a tensor is asked for .{name}",
            "columns of texts (ids, names, prompts) go through a batch unchanged, and .{name} is called on every value of it",
            "move tensors alone: {{k: v.to(device) if torch.is_tensor(v) else v for k, v in batch.items()}}; or leave such columns out",
        )
    if name == "append":
        return Told("a text has no append", "a list is wanted there", "[{it}], or a list from the beginning")
    if name == "decode":
        return Told(
            "a text is to be decoded, which it is already",
            "in Python 3 texts are no bytes; h5py from 3.0 on gives such attributes as texts",
            'leave out .decode(...) there; for an old Keras pip install "h5py<3"',
        )
    return None


_WHOLE_OUTPUT = Told(
    "the whole output of a model stands where one tensor is asked for .{name}",
    "it has its parts by name and by place",
    "{it}.logits (last_hidden_state for a model without a head, loss where labels are given) in place of the output",
    "transformers",
)
_OF_ENCODING = Told(
    "a batch of a tokenizer or processor stands where one tensor is asked for .{name}",
    "it is a dictionary: input_ids, attention_mask, pixel_values",
    'model(**batch), or the tensor itself ({it}["input_ids"]); return_tensors="pt" where the batch is made',
    "transformers",
)
_OF_CACHE = Told(
    "a {cls} of transformers stands where a tensor is asked for .{name}",
    "the keys and values of before are an object with methods, where older code has a tuple of tensors, or another argument (a mask) at "
    "that "
    "place of the call",
    "past_key_values.get_seq_length() for the length that was read from .shape; arguments by their names; or the transformers that this "
    "code "
    "was written for",
    "transformers",
)
_NO_DATASET = "trainers and map() take a datasets.Dataset (trl's and unsloth's prepare the rows with its methods)"
_ROWS = {
    "list": Told(
        "a list stands where a datasets.Dataset is asked for .{name}",
        _NO_DATASET,
        "datasets.Dataset.from_list({it}), whose rows are dictionaries",
    ),
    "dict": Told(
        "a dictionary stands where a datasets.Dataset is asked for .{name}",
        _NO_DATASET,
        "datasets.Dataset.from_dict({it}), or {it}['train'] for one of several splits",
    ),
    "DataFrame": Told(
        "a table of pandas stands where a datasets.Dataset is asked for .{name}", _NO_DATASET, "datasets.Dataset.from_pandas({it})"
    ),
    "DatasetDict": Told(
        "a DatasetDict, which holds several splits, stands where one Dataset is asked for .{name}",
        "load_dataset without split= gives all of them",
        "{it}['train'] (print {it} for the names), or load_dataset(..., split='train')",
        "datasets",
    ),
}
_OF_COLUMN = Told(
    "a Column stands where a list or an array is asked for .{name}",
    "since datasets 4.0 dataset['name'] gives a Column, which reads its rows as they are asked for; before it was a list (an array or a "
    "tensor, with set_format); other libraries (pyspark, SQLAlchemy) have a Column too",
    "{it}[:] in place of {it} (np.array of it for an array); or the release of what asks for it that knows datasets 4",
    "datasets",
    (("datasets", "<4.0.0"),),
    sure=False,
)
_OF_PICTURE = Told(
    "an image of Pillow stands where an array or a tensor is asked for .{name}",
    "the data set gives images, and the step that makes arrays of them is missing (a processor, ToTensor)",
    "np.array({it}), torchvision.transforms.ToTensor()({it}), or the model's processor; its size is {it}.size",
)
_OF_LAZY = Told(
    "{a} {cls} stands where {name} is asked for",
    "it gives one item after another and is neither a list nor an array",
    "list({it}) before that line",
)
_OF_CALLABLE = Told(
    "a function itself stands where {name} is asked for",
    "its call is missing (the parentheses), a variable has the name of a function, or a name that is a module or a class in one release "
    "is a "
    "function in another",
    "{it}() where what it returns is meant; print({it}) there tells whose function it is",
)
