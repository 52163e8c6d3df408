"""Messages over rows and files of data: datasets and Arrow, pandas, workers that load, media files, and templates that make text of rows.

Wordings as these raise them: https://github.com/huggingface/datasets (arrow_dataset.py, builder.py, table.py), https://github.com/apache/arrow,
https://github.com/pandas-dev/pandas, torch/utils/data/dataloader.py of https://github.com/pytorch/pytorch, https://github.com/imageio/imageio
(core/imopen.py), https://github.com/pallets/jinja. A thread of different columns: https://github.com/hiyouga/LlamaFactory/issues/3281.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

DATA = (
    # https://github.com/bigscience-workshop/t-zero/issues/37
    StatedMessage(
        r"Column to remove \[(?P<names>[^\]]{1,200})\] not in the dataset\. Current columns in the dataset: \[(?P<there>[^\]]{1,600})\]",
        "remove_columns names {names}, which this dataset, or this split of it, does not have",
        "it has {there}: the names were taken from another split, or of the dataset before it was changed",
        "remove_columns=dataset[split].column_names of the very split that is mapped",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        # https://github.com/UKPLab/sentence-transformers/pull/3455
        r"Wrong key type: '(?P<key>[^']{1,60})' of type '<class '(?P<type>[\w.]{3,40})'>'\. Expected one of int, slice",
        "datasets is asked for row {key}, and that is a {type} and no number of Python's",
        "indices from NumPy, torch or pandas are of their own kinds",
        "dataset[int(i)], or [int(i) for i in ids] (ids.tolist()) for several; datasets before 4.0 took some of them",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Column (?P<at>\d{1,4}) named (?P<name>\S{1,80}) expected length (?P<want>\d{1,9}) but got length (?P<got>\d{1,9})",
        "The columns of a table differ in length: {name} has {got} values where others have {want}",
        "mostly map(): with batched=True a function that returns more or fewer rows leaves the old columns as they were",
        "remove_columns=dataset.column_names in map(), or as many values as rows in each column",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Cannot write struct type '(?P<name>[^']{1,80})' with no child field",
        "Parquet has no form for an empty object, which is all that {name} holds",
        "",
        "leave the column out (remove_columns), or put one key into it",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Couldn't cast(?: array of type)?|[Cc]ould not cast array of type",
        "The rows do not have the columns or the types that were found in the first of them",
        "files with other columns in one folder, a field that is a text here and a list or nothing there, or features of an older cache",
        "the message lists both sides: rows of one form, features=... to name the types, or data_files with the files of one kind",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"at some point there are (?P<many>\d{1,4}) (?:new|missing) columns?|All the data files must have the same columns",
        "The files of one data set have different columns",
        "datasets takes those of the first file for all",
        "data_files with the files of one kind, one configuration for each kind, or the same columns in all",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Couldn't infer the same data file format for all splits|Couldn't infer format",
        "The folder has files of several kinds, and datasets takes one",
        "",
        "load_dataset('json', data_files={{'train': ..., 'test': ...}}) names kind and files",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Parquet magic bytes not found|Parquet file size is (?P<size>\d{1,6}) bytes|Not an Arrow file|Not a Feather|Expected to read "
        r"\d+ metadata bytes",
        "A file is no Parquet or Arrow file, or is cut",
        "a download that broke off, a pointer of git-lfs, or another format by that name",
        "its size against that of its source; fetch it again, and remove the cache of datasets for it",
        given=True,
    ),
    StatedMessage(
        r"NonMatchingSplitsSizesError|NonMatchingChecksumError|ExpectedMoreSplits|UnexpectedSplits",
        "What was read of the data set is not what its card promises",
        "files that changed after the card was written, a download that broke off, or a part of the files",
        "download_mode='force_redownload'; where the files are right, verification_mode='no_checks' (ignore_verifications before "
        "datasets 2.10)",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Unknown split \"(?P<name>[^\"]{1,60})\"\. Should be one of (?P<have>\[[^\]]{1,160}\])",
        "The data set has no split {name}; it has {have}",
        "",
        "one of these; dataset['train'].train_test_split(test_size=0.1) makes a second one",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Please first select a split",
        "The rows are asked of all splits at once (a DatasetDict)",
        "load_dataset without split= gives one set of rows for each split",
        "load_dataset(..., split='train'), or dataset['train']",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Feature type '(?P<name>\w{2,40})' not found",
        "The data set names a type of column, {name}, that this datasets does not know",
        "List came with datasets 4; a set that was saved or described with a later release",
        "pip install -U datasets; else the state of the data set of before",
        package="datasets",
    ),
    StatedMessage(
        r"Instruction \"(?P<what>[^\"]{1,80})\" corresponds to no data",
        "No row is left of the split that was asked for: {what}",
        "",
        "print the names and sizes of the splits; a slice beyond the end gives none",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Loading a streaming dataset in parallel with `num_proc`",
        "num_proc was given to a data set that is streamed",
        "",
        "leave num_proc out, or streaming=False",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"One of the subprocesses has abruptly died during map",
        "A process of map() was ended",
        "the memory of the machine was full, or compiled code in the function crashed",
        "num_proc=1 shows the error itself; fewer processes, a smaller writer_batch_size",
        package="datasets",
    ),
    StatedMessage(
        r"Error tokenizing data\. C error: Expected (?P<want>\d{1,6}) fields in line (?P<line>\d{1,9}), saw (?P<got>\d{1,6})",
        "Line {line} of the table has {got} fields, and the lines before it {want}",
        "a separator inside a field that has no quotes, another separator than the one that is taken, or a line that is cut",
        "look at line {line}; sep='\\t' (or what it is), quoting, or on_bad_lines='skip'",
        given=True,
        package="pandas",
    ),
    StatedMessage(
        r"Pin memory thread exited unexpectedly|cannot pin '(?P<type>[\w.]{3,40})'",
        "Rows could not be pinned in memory: {type}",
        "the rows are on the GPU already (made there by the collator or the dataset), or the process that pins was ended",
        "rows on the CPU until the loop moves them, or pin_memory=False (dataloader_pin_memory=False)",
    ),
    StatedMessage(
        r"prefetch_factor option could only be specified in multiprocessing|persistent_workers option needs num_workers > 0"
        r"|timeout option should be .{0,40}num_workers",
        "An option for the workers that load data is set, and there are none",
        "num_workers is 0",
        "num_workers=1 or more, or leave prefetch_factor and persistent_workers out",
        given=True,
        package="torch",
    ),
    StatedMessage(
        r"This DataLoader will create (?P<many>\d{1,4}) worker processes in total\. Our suggested max number of worker in current "
        r"system is "
        r"(?P<few>\d{1,4})",
        "{many} workers load data on a machine with {few} cores for this process: a warning, which may be slow",
        "",
        "num_workers of {few} or fewer; look for another error where the run ended",
        sure=False,
        package="torch",
    ),
    StatedMessage(
        r"Caught (?P<kind>\w{3,40}) in (?:DataLoader worker process|pin memory thread|replica) (?P<at>\d{0,4})",
        "Another process had a {kind}, and its own traceback stands below this line",
        "",
        "read it from 'Original Traceback' on; num_workers=0 lets it show in the process itself",
        sure=False,
    ),
    StatedMessage(
        r"There appear to be \d{1,4} leaked (?:semaphore|shared_memory)",
        "Python tidies up after a process that ended without doing so: what ended it stands before this line",
        "the system for its memory, a person (Ctrl-C), or an error; some programs end so where all went well",
        "the exit code and the lines before; dmesg | grep -i kill",
        sure=False,
    ),
    StatedMessage(
        r"Could not find a backend to open `?(?P<file>[^`\n]{1,200}?)`{1,2} with iomode",
        "imageio has no plugin for {file}",
        "films want ffmpeg or pyav, which do not come with it",
        "pip install 'imageio[ffmpeg]' (or 'imageio[pyav]')",
        package="imageio",
    ),
    StatedMessage(
        r"(?:moov atom not found|Invalid data found when processing input|could not find codec parameters)",
        "A film or a sound cannot be read: it is cut, or is none",
        "a file that was not written to its end has no moov atom",
        "ffprobe FILE; leave such files out, or fetch them again",
        given=True,
    ),
    StatedMessage(
        r"'dict object' has no attribute '(?P<name>\w{1,40})'"
        r"|UndefinedError: '(?P<other>\w{1,40})' is undefined|jinja2\.exceptions\.UndefinedError(?!: ')",
        "The template (of chat, mostly) asks for a field that it was not given: {name}{other}",
        "rows in another form than role and content (ShareGPT's from and value), or a template that wants tools or a system message",
        "messages as [{{'role': 'user', 'content': '...'}}, ...]; print(tokenizer.chat_template) shows what it asks for",
        given=True,
    ),
    StatedMessage(
        r"Object of type Undefined is not JSON serializable",
        "The chat template prints a value that the messages do not have (tojson of something undefined)",
        "a tool without parameters, or a message without the field that the template writes",
        "give every tool name, description and parameters; print(tokenizer.chat_template) shows what it asks for",
        given=True,
    ),
    StatedMessage(
        r"[Nn]umber of image tokens (?P<tokens>\d{1,6}) does not match number of images (?P<images>\d{1,5})"
        r"|(?P<other>\d{1,6}) (?:<image>|image tokens?) .{0,40}but (?P<got>\d{1,5}) images?",
        "The text has {tokens}{other} places for images, and {images}{got} images came with it",
        "the image token was left out of the text or stands there twice, or images and texts of a batch are nested differently",
        "one image token for each image, made by processor.apply_chat_template; images as a list of lists for a batch",
        given=True,
    ),
    StatedMessage(
        r"Mismatch in `(?P<kind>\w{3,8})` token count between text and `input_ids`",
        "A row has not as many tokens for its {kind} as its text: mostly it was cut in their middle",
        "truncation with max_length counts the tokens of images as well",
        "a larger max_length or none (max_length=None in trl), or smaller images (max_pixels)",
        given=True,
        package="transformers",
    ),
    StatedMessage(
        r"Unable to create tensor, you should probably activate truncation and/or padding",
        "Rows of a batch have different lengths or forms, and are to be one tensor",
        "no padding was asked for, or a column is a text, a list of lists, or nothing",
        "padding=True, truncation=True for the tokenizer; columns that are no numbers out of the batch (remove_unused_columns, "
        "remove_columns)",
        given=True,
        package="transformers",
    ),
)
