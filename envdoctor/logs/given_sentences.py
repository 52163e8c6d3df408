"""Sentences about what a run was told to do, and with which rows and files: a table, for ``run_errors``.

The environment is innocent of them: they are told as notes.
"""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

# Each was looked up where it is raised: torch 2.13.0, transformers 5.24.0, datasets 5.2.0, llamafactory 0.9.4; CPython's
# multiprocessing/spawn.py and json/encoder.py. What stands under each is what the code around it tests.
GIVEN = (
    Sentence(
        r"An attempt has been made to start a new process before the",
        "The script starts processes while it is still being imported",
        "Windows and macOS start workers by importing the script again, and what stands outside a function runs again there",
        "put what runs under if __name__ == '__main__':, or dataloader_num_workers=0 and num_proc=None",
    ),
    Sentence(
        r"num_samples should be a positive integer value, but got num_samples=0",
        "There is no row to train on",
        "nothing was loaded, or nothing left after rows were filtered or cut: a wrong path or split, renamed columns, or rows that "
        "are all longer than the limit",
        "print(len(dataset), dataset.column_names) just before the trainer is made",
    ),
    Sentence(
        r"load_best_model_at_end requires the save and eval(?:uation)? strategy to match",
        "load_best_model_at_end wants a checkpoint at every evaluation, and the two strategies differ",
        "",
        "save_strategy and eval_strategy alike ('steps' with the same number of steps, or 'epoch'), or load_best_model_at_end=False",
        "transformers",
    ),
    Sentence(
        r"but you didn't pass an `eval_dataset` to `Trainer`|[Tt]rainer: evaluation requires an eval_dataset",
        "The plan evaluates, and the trainer was given nothing to evaluate on",
        "",
        "eval_dataset=..., or eval_strategy='no' (LLaMA-Factory: val_size or eval_dataset)",
        "transformers",
    ),
    Sentence(
        r"Object of type (?P<what>\w*(?:Config|Dtype|dtype|Tensor|ndarray|float32|int64)) is not JSON serializable",
        "A value that JSON has no form for is to be written into a configuration or a log",
        "an object that was put into the model's configuration, TrainingArguments or the metrics as it is",
        "convert it first (str(dtype), float(value), config.to_dict()), or keep it out of what is saved and reported",
    ),
    Sentence(
        r"did not return a loss from the inputs",
        "The model got no labels: it returns logits and no loss",
        "the rows have no column labels, it has another name, or remove_unused_columns took it away",
        "a column labels (DataCollatorForLanguageModeling(tokenizer, mlm=False) makes it for causal models), label_names=[...] where it is "
        "called otherwise",
        "transformers",
    ),
    Sentence(
        r"No columns in the dataset match the model's forward method signature",
        "No column of the rows is an argument of the model: they are text that was not tokenized",
        "",
        "tokenize before the Trainer is made (input_ids, attention_mask, labels), or a trainer that does it itself (SFTTrainer); "
        "remove_unused_columns=False only where the collator tokenizes",
        "transformers",
    ),
    Sentence(
        r"because column names don't match",
        "The files of one data set have different columns",
        "datasets takes the columns of the first file for all: a file of another kind lies in the same folder or split, or a row has "
        "a field more",
        "data_files with the files of one kind alone, or rows that all have the same fields",
        "datasets",
    ),
    # datasets/load.py; https://github.com/karpathy/nanoGPT/commit/0de00c6
    Sentence(
        r"(?:The repository for|Loading) \S{1,200} (?:contains|requires) .{0,80}to correctly load the dataset"
        r"|Loading \S{1,200} requires you to execute the dataset script",
        "The data set comes with a script of its own, and running it was not allowed",
        "datasets asks for that from 2.16 on, refuses without it from 2.20 on, and loads no scripts at all from 4.0 on",
        "read that script, then load_dataset(..., trust_remote_code=True), or HF_DATASETS_TRUST_REMOTE_CODE=1 where the call is not yours, "
        "with datasets before 4; or a copy of the data set in Parquet",
        "datasets",
    ),
    Sentence(
        r"Loading \S{1,200} requires (?:you )?to execute (?:the \w+ file|some code|custom code)|"
        r"contains custom code which must be executed to correctly load|trust_remote_code=True` to (?:remove this error|allow custom code)",
        "The model brings code of its own, and running it was not allowed",
        "",
        "read that code, then trust_remote_code=True (LLaMA-Factory, axolotl: trust_remote_code: true); or a transformers that knows the "
        "model itself",
        "transformers",
    ),
    Sentence(
        r"No valid checkpoint found in output directory|Can't find a valid checkpoint at",
        "The run is to go on from a checkpoint, and there is none that it can use",
        "the folder holds no checkpoint-N, or one of another kind: an adapter alone, or one saved without DeepSpeed's states",
        "resume_from_checkpoint with the folder checkpoint-N itself, or false to begin anew",
        "transformers",
    ),
    Sentence(
        r"Input length of (?:input_ids|decoder_input_ids|inputs_embeds)? ?is \d+, but `max_length` is set to",
        "The prompt alone is longer than generation may be",
        "max_length counts the prompt as well",
        "max_new_tokens=... in place of max_length",
        "transformers",
    ),
    Sentence(
        r"Undefined dataset \S+ in dataset_info\.json|Cannot open \S{0,200}dataset_info\.json due to",
        "LLaMA-Factory finds no entry for the data set: dataset_info.json lacks it, or is in another folder",
        "dataset_dir is data unless it is set, seen from the folder that the command was started in",
        "add the name to that dataset_info.json, or dataset_dir: the folder that has one",
        "llamafactory",
    ),
    Sentence(
        r"^(?:\w+Error: )?Template \S+ does not exist\.",
        "This LLaMA-Factory has no template of that name",
        "a name of a later release, or a misspelt one",
        "a later LLaMA-Factory, or one of the names in src/llamafactory/data/template.py",
        "llamafactory",
    ),
    Sentence(
        r"Cannot find (?:valid|sufficient) samples, c",
        "No row of the data set could be used as the template and the columns want it",
        "columns that are mapped to other names in dataset_info.json, another formatting (alpaca, sharegpt), or rows that are empty",
        "compare one row with data/README.md: formatting, columns and tags of its entry in dataset_info.json",
        "llamafactory",
    ),
    Sentence(
        r"Some (?:specified arguments|keys) are not used by the HfArgumentParser",
        "The plan has settings that this release does not know",
        "a misspelt name, one of a later or earlier release, or of another framework",
        "correct or remove what the message lists; envdoctor check PLAN suggests the nearest name",
        "transformers",
    ),
    Sentence(
        r"Error opening .{1,200}: (?:File contains data in an unknown format|Format not recogni[sz]ed)",
        "libsndfile cannot read this kind of sound file",
        "m4a, aac and video are none that it knows, mp3 from libsndfile 1.1 on; or the file is cut, or a page of HTML",
        "convert it: ffmpeg -i FILE -ar 16000 FILE.wav",
        "soundfile",
    ),
    Sentence(
        r"'utf-8' codec can't decode byte 0x8b in position 1",
        "A file that gzip made is read as text",
        "compressed data under a name that does not say so",
        "gunzip it, or give it its ending .gz",
    ),
)
