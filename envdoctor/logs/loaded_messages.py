"""Messages about what a program loads or asks for: libraries of CUDA on Windows, files that are cut, registries, servers that answer
otherwise, kernels whose own conditions fail.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_NO_LIBRARY = r"Library (?P<dll>(?:lib)?(?:cublas|cudnn)[\w.]{0,40}?(?:64_|\.so\.)%s(?:\.dll)?) is not found or cannot be loaded"
LOADED = (
    # CTranslate2's own words; what its page says of CUDA: https://github.com/SYSTRAN/faster-whisper#gpu
    StatedMessage(
        _NO_LIBRARY % "12",
        "CTranslate2 4 (which faster-whisper and WhisperX run on) asks for {dll}, of CUDA 12, and does not find it",
        "torch for CUDA 11 brings none, and torch for CUDA 12 has it in a folder that is searched only where it is told",
        'with torch for CUDA 11 (cu118): pip install "ctranslate2<4" and faster-whisper 0.10.1 or older; else pip install '
        "nvidia-cublas-cu12 nvidia-cudnn-cu12, and their folders on LD_LIBRARY_PATH (the PATH on Windows)",
        package="ctranslate2",
    ),
    StatedMessage(
        _NO_LIBRARY % "11",
        "CTranslate2 3 (which faster-whisper and WhisperX run on) asks for {dll}, of CUDA 11, and does not find it",
        "torch for CUDA 12 brings none",
        "pip install -U ctranslate2 faster-whisper, whose CTranslate2 4 is for CUDA 12; or pip install nvidia-cublas-cu11 and its folder "
        "on "
        "LD_LIBRARY_PATH (the PATH on Windows)",
        package="ctranslate2",
    ),
    StatedMessage(
        # Where Windows has no memory left (1455), in whatever language, the file is there.
        r"(?s:^(?!.*\[WinError 1455\]).*?)(?P<dll>(?:cublas|cublasLt|cudart|cudnn\w{0,24}|cufft|curand|cusparse"
        r"|cusolver|nvrtc)64_(?P<major>\d{1,3})\w{0,4}\.dll)",
        "{dll} is not found: the program was built for that release of CUDA's libraries ({major})",
        "the file is not installed, or its folder is not on the PATH; the number in its name is the major of CUDA (of cuDNN in cudnn...)",
        "the toolkit or the pip packages of that very major (nvidia-cublas-cu{major}, nvidia-cudnn-cu{major} for CUDA's number) with "
        "their "
        "bin folder on the PATH; or a release of the program for the CUDA that is there",
    ),
    StatedMessage(
        r"unexpected EOF, expected (?P<left>\d{1,15}) more bytes",
        "The file of weights ends too early: {left} bytes are missing",
        "its download or copy broke off, or the disk was full",
        "remove it, and fetch it again; its size against that on the page",
        given=True,
    ),
    StatedMessage(
        r"size of dimension does not match previous size, operand (?P<at>\d), dim (?P<dim>\d)"
        r"|einsum\(\): subscript \w has size (?P<a>\d{1,7}) for operand \d which does not broadcast with previously seen size "
        r"(?P<b>\d{1,7})",
        "Two tensors of an einsum do not fit: the same letter stands for two sizes {a} {b}",
        "an input of another size than the model was made for (img_size, a length), or weights of another model",
        "resize the input to the size in the model's settings, or make the model for the size of the input",
        given=True,
    ),
    StatedMessage(
        r"CUDA error: initialization error|cudaErrorInitializationError|CUDA_ERROR_NOT_INITIALIZED",
        "CUDA does not start in this process",
        "the driver was replaced without a restart, a stub of libcuda (from a toolkit or a wheel) is loaded in place of the "
        "driver's, or the "
        "process was forked after CUDA was used",
        "nvidia-smi; no .../stubs on LD_LIBRARY_PATH; start workers by spawn",
        sure=False,
    ),
    StatedMessage(
        r"Assertion `(?P<what>amax >= 0|scale > 0|!isnan\(\w{1,20}\)|isfinite\(\w{1,20}\))",
        "A kernel found a value that is no number: {what} does not hold",
        "activations overflowed in float16 while the model was calibrated or computed, or weights hold NaN",
        "bfloat16 (or float32) for that pass, and a look for NaN in the weights; CUDA_LAUNCH_BLOCKING=1 shows the layer",
    ),
    StatedMessage(
        r"no model for this name found|is not in the \S{1,60} registry|(?:was|is) not registered"
        r"|(?P<name>\S{1,60}) (?:already )?not found in registry",
        "A registry has no entry of that name",
        "entries are made when their module is imported: that import failed quietly (a package is missing or broken), was never "
        "made, or the "
        "name is of another release",
        "python -c 'import PACKAGE.MODULE' of the module that has it shows the error; custom_imports where the framework wants them",
        sure=False,
    ),
    StatedMessage(
        r"<Response \[(?P<code>50[234])\]>|HTTP(?:Error|/1\.1)?:? ?\"?(?P<other>50[23]) (?:Bad Gateway|Proxy)",
        "The answer is {code}{other}, which comes from something between: a proxy, or a server whose own backend is not up",
        "http_proxy is set and is asked for addresses of this machine too",
        "no_proxy=localhost,127.0.0.1,0.0.0.0 (and NO_PROXY) before the start; else the log of the server itself",
    ),
    StatedMessage(
        r"Cannot instantiate this tokenizer from a slow version|Couldn't instantiate the backend tokenizer",
        "A fast tokenizer is to be made from a file of SentencePiece or tiktoken, and what reads that file is not there",
        "the folder has no tokenizer.json, so it is converted",
        "pip install sentencepiece protobuf tiktoken, and start Python anew; or the tokenizer.json of the model",
    ),
    StatedMessage(
        r"^\W{0,3}(?:\S{1,80}: line \d{1,6}:\s{1,4}\d{1,9} )?Segmentation fault",
        "The process was ended by SIGSEGV: compiled code read or wrote where it may not",
        "no Python error belongs to it: parts of different builds side by side (torch, its extensions, conda's beside pip's), a "
        "driver, or "
        "memory that is broken",
        "python -X faulthandler (PYTHONFAULTHANDLER=1) shows whose code ran; install that anew, or another release of it",
        sure=False,
    ),
    StatedMessage(
        r"^\W{0,3}(?:\S{1,80}: line \d{1,6}:\s{1,4}\d{1,9} )?Killed(?:\s{1,40}\S.{0,200})?$",
        "The process was ended from outside (SIGKILL): mostly by Linux, because the memory of the machine was full",
        "loading a model whole, many workers, or the limit of a container or a scheduler",
        "dmesg | grep -i kill (or the scheduler's log) tells; more memory, fewer workers, or a model that is loaded in pieces",
        sure=False,
        unless=("host-memory-ended-the-run",),
    ),
    StatedMessage(
        r"mat1 and mat2 must have the same dtype$|mixed dtype \(CPU\): expect parameter to have scalar type of \w{3,12}",
        "The input and the weights of a layer are of different types",
        "a part (a ControlNet, an adapter, a VAE) was loaded in another type than the rest, or half precision runs on the CPU",
        "load all parts with one torch_dtype; on the CPU float32 (--no-half)",
        given=True,
    ),
    StatedMessage(
        r"index (?P<index>-?\d{1,12}) is out of bounds for dimension (?P<dim>\d{1,2}) with size (?P<size>\d{1,12})",
        "Entry {index} is asked for, and dimension {dim} has {size} entries, counted from 0",
        "ids or positions are counted otherwise than the table was made: a tokenizer with more tokens, a position that begins at 1, "
        "a row "
        "that was cut shorter",
        "print the largest of the indices and the shape before the line above; the tokenizer, offset and length that belong to this model",
        given=True,
    ),
    StatedMessage(
        r"out of range integral type conversion attempted",
        "Ids are decoded of which one is negative or too large for a token",
        "-100 marks what does not count in labels, and pads predictions of several lengths",
        "preds = np.where(preds != -100, preds, tokenizer.pad_token_id) before batch_decode",
        given=True,
    ),
    StatedMessage(
        r"OverflowError: int too big to convert",
        "A length is larger than the tokenizer can count",
        "a tokenizer without a model_max_length has 10^30 in its place, and truncation or padding asks for that",
        "max_length=512 (that of the model) in the call, or tokenizer.model_max_length = 512",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"Unexpected input data type\. Actual: \(?(?P<got>tensor\(\w{2,12}\))\)? ?,? ?expected: \(?(?P<want>tensor\(\w{2,12}\))",
        "An input of the ONNX model is {got}, and it takes {want}",
        "it was exported with inputs of that type, or from another release of the pipeline",
        "x.astype(...) to what it takes before run(); session.get_inputs() lists names and types",
        given=True,
    ),
    StatedMessage(
        r"Got invalid dimensions for input: (?P<name>\S{1,80})",
        "The input {name} has another shape than the ONNX model was exported for",
        "it was exported with fixed axes",
        "inputs of that shape, or the export with dynamic_axes (dynamic=True)",
        given=True,
    ),
    StatedMessage(
        r"trained using a sampling rate of (?P<want>\d{3,6})\..{0,120}?(?:and not|not) (?P<got>\d{3,6})",
        "The sound has {got} samples a second, and the model takes {want}",
        "",
        "dataset.cast_column('audio', Audio(sampling_rate={want})), or librosa.load(path, sr={want})",
        given=True,
    ),
    StatedMessage(
        r"^KeyError: '(?P<field>\\?[\"\n ][^']{0,80})'$",
        "A text with braces of its own goes through str.format, which takes {field} for the name of a field",
        "a prompt or a template with JSON in it",
        "double the braces that are meant as such, or replace() in place of format()",
        given=True,
    ),
    StatedMessage(
        r"ssh exited with exit code 255|ssh: connect to host (?P<host>\S{1,80}) port \d{1,5}: ",
        "ssh to another node failed {host}",
        "it is not reached at that port, or asks for a password or to trust its key",
        "ssh NODE hostname by hand must answer at once: ssh-copy-id NODE, the port in ~/.ssh/config, the name in the hostfile",
    ),
)
