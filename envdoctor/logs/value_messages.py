"""Messages about rows and values that state them: of NumPy, pandas, Arrow and the data that runs are given."""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

VALUES = (
    # transformers/tokenization_utils_base.py: it names the column that it could make no tensor of, and pads those that it knows by the
    # tokens' length. https://github.com/hiyouga/LlamaFactory/issues/2376
    StatedMessage(
        r"Perhaps your features \(`(?P<name>(?!labels|input_ids|attention_mask)\w{2,40})` in this case\) have excessive "
        r"nesting \(inputs type "
        r"`list` where type `int` is expected",
        "The column {name} of the batch has another length than the tokens of its row, or is nested",
        "the preprocessing adds a token (eos) to the ids and the mask, or cuts them, and leaves {name} as the "
        "tokenizer gave it; or the column "
        "is of the data, and no collator pads it",
        "leave {name} out (return_token_type_ids=False where the tokenizer is called, remove_columns of the data), or "
        "change it together with "
        "the ids; where a framework makes the rows, a later release of it",
        given=True,
        over=("batch-of-unequal-or-nested-columns",),
        package="transformers",
    ),
    StatedMessage(
        r"local variable '(?P<name>\w{1,80})' (?:was )?referenced before assignment|cannot access (?:local|free) variable "
        r"'(?P<other>\w{1,80})' where it is not associated with a value",
        "{name}{other} is used, and no line has given it a value: the branch that does so did not run",
        "it is set in an if, a try, a with or a loop: none of the conditions held (a model, a type or a setting that the code does not "
        "know), "
        "the try failed, or the loop had no row",
        "give it a value before that branch, or look at the condition that sets it and what it is asked with; an empty loader, a split of "
        "no rows and a name that no elif knows are the usual ones",
        given=True,
    ),
    StatedMessage(
        r"repeats must have the same size as input along dim, but got repeats\.size\(0\) = (?P<a>\d{1,9}) and "
        r"input\.size\(0\) = (?P<b>\d{1,9})",
        "repeat_interleave is given {a} counts for {b} rows: one count belongs to each",
        "the lengths are those of rows that were packed, split over ranks (context or sequence parallel) or filtered, and what is to be "
        "repeated is of before, or after, that",
        "print both shapes at that line, and take the lengths and the values from the same batch; without packing or padding_free, or with "
        "one row a device, they agree",
        given=True,
    ),
    StatedMessage(
        r"requested array has an inhomogeneous shape after (?P<dims>\d) dimensions?\. The detected shape was (?P<shape>\([\d, ]{1,40}\))",
        "Rows of unequal length are made one array: {shape} rows that differ in length behind that",
        "NumPy before 1.24 made an array of objects of them and only warned, so code of that time relied on it",
        'pip install "numpy<1.24" for code of that time; or dtype=object at the line above, or rows that are padded to one length',
        given=True,
    ),
    StatedMessage(
        r"(?:ArrowTypeError|ArrowInvalid).{0,40}?\(?[\"'](?P<says>Expected (?P<want>\w{2,12}), got an? '(?P<got>\w{2,20})' object|"
        r"Could not convert .{1,120}? with type (?P<kind>\w{2,20}): [^\"']{3,80})[\"'], ['\"]Conversion failed for column "
        r"(?P<column>[^'\"]{1,80}) with type",
        "Column {column} holds values of several types: {says}",
        "pandas keeps them as objects, Arrow wants one type in a column",
        "df['{column}'] = df['{column}'].astype(str) (or one number type) before it is handed on",
        given=True,
    ),
    StatedMessage(
        r"operands could not be broadcast together with shapes \((?P<a>[\d,]{0,40})\) \((?P<b>[\d,]{0,40})\)"
        r"|could not broadcast input array from shape \((?P<c>[\d,]{0,40})\) into shape \((?P<d>[\d,]{0,40})\)",
        "Two arrays do not fit: ({a}{c}) and ({b}{d})",
        "each axis must be equal or 1: an image with an alpha channel (4) or a grey one beside RGB (3), images of other sizes, or "
        "rows cut "
        "otherwise",
        "convert('RGB') and one size for all images; for rows one length",
        given=True,
    ),
    StatedMessage(
        r"Object arrays cannot be loaded when allow_pickle=False",
        "The .npy or .npz file holds objects and not plain numbers",
        "NumPy loads such files since 1.16.3 only where it is allowed to; a file that is no .npy (cut, a git-lfs pointer) says the same",
        "np.load(FILE, allow_pickle=True) for a file that you trust; look at its size where it should hold numbers",
    ),
    StatedMessage(
        r"zero-size array to reduction operation (?P<what>\w{1,20}) which has no identity|(?:max"
        r"|min)\(\) (?:arg is an empty sequence|iterable argument is empty)"
        r"|Mean of empty slice",
        "There is nothing to compute with: the list or array is empty",
        "a data set, a folder or a selection has no rows, or everything was filtered out",
        "look at why it is empty: the folder and the pattern that files are looked for by, filters, a split's name",
        given=True,
    ),
    StatedMessage(
        r"could not convert string to float: ['\"]?(?P<text>[^'\"\n]{0,60})"
        r"|invalid literal for int\(\) with base 10: ['\"](?P<other>[^'\"\n]{0,60})",
        "A number is wanted, and the text is {text}{other}",
        "a header or a name in a column of numbers, a list whose fields are separated otherwise, a file name that the code takes a "
        "number "
        "from, or a setting in words",
        "look at the line above for where the text comes from: the row, the column, the name of a file or folder, or the setting",
        given=True,
    ),
    StatedMessage(
        r"No data found\. Please verify (?:the )?arguments|ignore directory without (?:repeats|number)",
        "kohya's scripts found no image: train_data_dir must be the folder above those that hold images, and these are called NUMBER_NAME",
        "10_mycat, say, where 10 is how often each image is repeated",
        "train_data_dir=FOLDER with the images in FOLDER/10_name/",
        given=True,
    ),
    StatedMessage(
        r"No valid path is found for|[Nn]o (?:(?:valid|training|train|test|matching|input|audio|supported|usable) )?(?:images?"
        r"|samples?|files?|videos?|wavs?|audio files?|labels?|data|rows"
        r"|examples) (?:was |were |are )?found"
        r"|[Ff]ound 0 (?:files|images|logits|samples|videos)|\b0 (?:train )?images with repeating|[Dd]ataset (?:is empty"
        r"|contains no)|empty dataset",
        "No row was found in the data that was given",
        "another folder than the one that is looked in, files of another ending or layout, a step of preparation that was left out, or a "
        "filter that removed all",
        "print the path and the pattern at the line above, list that folder, and bring it into the layout that the project describes",
        given=True,
    ),
    StatedMessage(
        r"No object file|has no mapping for|Can(?:not| ?'?t) map tensor ['\"](?P<name>[\w.]{1,120})",
        "llama.cpp's converter knows no place for the tensor {name} in this kind of model",
        "an adapter or a wrapper that was not merged (base_model., lora_, base_layer), a quantized checkpoint (.quant_state, .SCB, "
        "qweight), or "
        "a model whose kind a later state of the converter knows",
        "merge and save in 16 bits first (merge_and_unload, save_pretrained), and the newest llama.cpp",
    ),
    StatedMessage(
        r"(?:NotImplementedError: |^)(?:Architecture|Model) ['\"]?(?P<name>\w{4,80}(?:ForCausalLM|ForConditionalGeneration|Model"
        r"|LMHeadModel|ForMaskedLM|ForSequenceClassification))"
        r"['\"]? (?:is )?not supported|ERROR:hf-to-gguf:Model (?P<other>\w{4,80}) is not supported",
        "llama.cpp's converter that ran does not know {name}{other}",
        "it came with a later state of the converter, is the business of another of its scripts (before mid 2024 convert.py had "
        "Llama), or "
        "has no place in GGUF",
        "git pull llama.cpp and pip install its requirements, then convert_hf_to_gguf.py; its page lists the models",
    ),
    StatedMessage(
        r"unknown (?:model )?architecture: ['\"]?(?P<name>[\w.-]{1,60})",
        "The program that loads the GGUF file does not know the architecture {name}",
        "its llama.cpp is older than the model; ollama, LM Studio and llama-cpp-python each bring one of their own",
        "update the program (llama-cpp-python, ollama, the build of llama.cpp) to a release after the model's",
    ),
    StatedMessage(
        r"Could not find a tokenizer matching any of \[(?P<kinds>[^\]]{1,60})\]|Cannot find Llama BPE tokenizer"
        r"|File not found: \S{0,200}tokenizer\.model",
        "llama.cpp's converter found no tokenizer of the kind that it looks for in the model's folder",
        "tokenizer.model or vocab.json lies elsewhere, the tokenizer was not saved beside the model, or the script is the old "
        "convert.py, which "
        "does not know Llama 3's and other BPE tokenizers",
        "save the tokenizer into that folder (or fetch the base model's tokenizer files), and convert_hf_to_gguf.py of the newest "
        "llama.cpp",
    ),
    StatedMessage(
        r"invalid magic (?:characters|number)|bad magic|not a (?:valid )?GGUF file|unknown \(magic, version\) combination",
        "The file is no GGUF, or one of an older kind than the program reads",
        "a cut download, a pointer of git-lfs, or GGML files of before August 2023",
        "its size against the hub's; fetch it again, or the GGUF of the same model",
    ),
    StatedMessage(
        r"wrong number of tensors; expected (?P<want>\d{1,6}), got (?P<got>\d{1,6})|missing tensor '(?P<name>[\w.]{1,80})'",
        "The GGUF file has other tensors than the program expects of its architecture ({name}{want})",
        "it was made by another state of llama.cpp than the one that loads it, or its download was cut",
        "update the program, or convert the model anew with the llama.cpp that loads it",
    ),
    StatedMessage(
        r"not enough values to unpack \(expected (?P<want>\d{1,3}), got (?P<got>\d{1,3})\)",
        "{want} values are wanted there, and {got} came",
        "where a line of a list is split, it has fewer fields than the code wants (a speaker, a language) or another separator; where a "
        "function returns them, it is of another release or mode than the caller",
        "print what comes before that line: bring the list into the form of {want} fields that the project describes, or both sides "
        "to one state",
        sure=False,
        given=True,
    ),
    StatedMessage(
        r"src data type = (?P<type>\w{2,12}) is not supported|Overload resolution failed",
        "OpenCV gets an array that it does not take ({type})",
        "it knows no bool and no int64, and wants arrays of NumPy that lie in one piece, of integers for points and sizes",
        "mask.astype(np.uint8), np.ascontiguousarray(x), int() around coordinates",
    ),
    StatedMessage(
        r"Assertion failed\) (?:\(?-?\w{0,3}\)? ?)?!?_?(?:s?size|src)\.(?:empty|width"
        r"|height)[^']{0,60}in function '(?P<what>[\w:]{2,40})'",
        "OpenCV's {what} gets an empty image",
        "cv2.imread and VideoCapture return nothing, and raise nothing, where a file is not there or cannot be read (a wrong path, "
        "letters "
        "beyond ASCII in it on Windows, a broken file)",
        "look whether the path exists where it is read, and test 'img is None' there",
        given=True,
    ),
    StatedMessage(
        r"expected Tensor as element (?P<at>\d{1,6}) in argument 0, but got (?P<got>\w{2,40})",
        "Tensors are to be joined, and item {at} of the list is a {got}",
        "a step before gave nothing for this row: a cache of latents or features that was not made, a file that could not be read, or a "
        "field that the collator passes on as it is",
        "print what makes that item; build the cache anew, or leave such rows out",
        given=True,
    ),
    StatedMessage(
        r"Parent directory (?P<path>.{1,200}?) does not exist|File (?P<other>\S{1,200}) cannot be opened",
        "torch cannot write the file: the folder {path}{other} is not there",
        "it was not made before, or its name has blanks or letters that torch's writer on Windows does not take",
        "os.makedirs(folder, exist_ok=True) before torch.save; a path of plain letters without blanks",
        given=True,
    ),
    StatedMessage(
        r"text input must (?:be )?of type `?str`?|TextEncodeInput must be Union|TextInputSequence must be str",
        "The tokenizer was given something else than texts",
        "a column with empty cells (None, NaN), numbers, or lists nested once more than it takes; or the wrong column",
        "df[col].fillna('').astype(str), or leave such rows out; list(texts) of a column of datasets or pandas",
        given=True,
    ),
    StatedMessage(
        r"(?:Invalid|invalid) RLE|RLE (?:mask|counts)",
        "A mask of the annotations is no run-length code of the form that is read",
        "polygons, or uncompressed counts (a list) in place of compressed ones (a text), as tools export them differently",
        "pycocotools.mask.frPyObjects and encode make the form that SAM's loaders read; export the data as RLE",
        given=True,
    ),
    StatedMessage(
        r"added_cond_kwargs",
        "The UNet is that of SDXL, and what calls it gives it none of SDXL's further conditions (text_embeds, time_ids)",
        "a script or pipeline for Stable Diffusion 1 or 2 with an SDXL model",
        "the SDXL pipeline or script (train_..._sdxl.py, StableDiffusionXLPipeline), or a model of that family",
        given=True,
    ),
    StatedMessage(
        r"Could not load Llama model from path: (?P<file>\S{1,200}(?:ggml|\.bin)\S{0,60})",
        "llama.cpp does not load {file}: by its name it is a GGML file, the kind of before GGUF (August 2023)",
        "llama-cpp-python reads GGUF alone since 0.1.79, and each release before it one version of GGML",
        "the GGUF of the same model; or the llama-cpp-python of the file's day",
    ),
    StatedMessage(
        r"Input tensor at index (?P<at>\d{1,3}) has invalid shape \[(?P<got>[\d, ]{1,60})\], but expected \[(?P<want>[\d, ]{1,60})\]",
        "DataParallel joins what its copies return, and that of copy {at} has another shape: [{got}] for [{want}]",
        "each GPU pads its share of the batch to its own longest row",
        "one GPU (CUDA_VISIBLE_DEVICES=0), DistributedDataParallel, or rows that are padded to one length before they are spread",
    ),
    StatedMessage(
        r"object type '?NpzFile'?|'NpzFile' object has no attribute",
        "The file is an archive of several arrays (.npz), and the code takes it for one array (.npy)",
        "",
        "np.load(FILE)['NAME'] (its .files lists the names), or save it with np.save",
        given=True,
    ),
    StatedMessage(
        r"packages were previously imported in this runtime|You must restart the runtime",
        "Colab warns that packages were installed which this session has imported already: what runs is the release of before",
        "it is no error: what stops the run stands elsewhere",
        "restart the session once after the installing cell, and run the cells after it; not needed where nothing else fails",
        sure=False,
    ),
    StatedMessage(
        r"unrecognized namespace (?P<name>[\w:]{2,80})",
        "The export to ONNX meets {name}, an operator of an extension that ONNX has nothing for",
        "xformers and flash-attn put such operators in place of torch's attention",
        "turn them off for the export (no --xformers, attn_implementation='eager' or torch's own attention)",
    ),
    StatedMessage(
        r"Could not find any implementation for node",
        "TensorRT found no kernel for a part of the network",
        "too little workspace memory for the tactics (the lines above say so), a type or shape that it has none for, or a fault of "
        "the release",
        "more workspace (--memPoolSize=workspace:8192), another precision, fixed shapes, or a newer TensorRT",
        sure=False,
    ),
    StatedMessage(
        r"number of GPUs per node is not divisible by the number of tensor parallelism",
        "tensor_parallel_size does not divide the GPUs of the machine",
        "",
        "as many GPUs as a multiple of it (CUDA_VISIBLE_DEVICES), or another tensor_parallel_size",
        given=True,
    ),
    StatedMessage(
        r"Failed to import any qt binding|no Qt binding|Could not load the Qt platform plugin",
        "No toolkit for windows (Qt) is there that Matplotlib or the program can use",
        "PyQt5 or PySide is not installed, or the machine has no display",
        "pip install PyQt5; without a display QT_QPA_PLATFORM=offscreen, MPLBACKEND=Agg",
    ),
)
