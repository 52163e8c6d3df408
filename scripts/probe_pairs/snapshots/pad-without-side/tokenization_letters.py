"""A tokenizer of single letters whose _pad has the parameters of before transformers 4.45."""

import json
import os
import shutil

from transformers import PreTrainedTokenizer


class LettersTokenizer(PreTrainedTokenizer):
    vocab_files_names = {"vocab_file": "vocabulary.json"}  # noqa: RUF012
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(self, vocab_file, padding_side="left", **kwargs):
        self.vocab_file = vocab_file
        with open(vocab_file, encoding="utf-8") as stream:
            self.table = json.load(stream)
        super().__init__(padding_side=padding_side, **kwargs)

    @property
    def vocab_size(self):
        return len(self.table)

    def get_vocab(self):
        return {**self.table, **self.added_tokens_encoder}

    def _tokenize(self, text, **kwargs):
        return list(text)

    def _convert_token_to_id(self, token):
        return self.table.get(token, self.table["<unk>"])

    def _convert_id_to_token(self, index):
        return list(self.table)[index]

    def convert_tokens_to_string(self, tokens):
        return "".join(tokens)

    def save_vocabulary(self, save_directory, filename_prefix=None):
        path = os.path.join(save_directory, "vocabulary.json")
        shutil.copyfile(self.vocab_file, path)
        return (path,)

    def _pad(
        self,
        encoded_inputs,
        max_length=None,
        padding_strategy="do_not_pad",
        pad_to_multiple_of=None,
        return_attention_mask=None,
    ):
        """Pads on the left."""
        ids = encoded_inputs["input_ids"]
        pads = getattr(padding_strategy, "value", padding_strategy) != "do_not_pad"
        missing = max(0, (max_length or 0) - len(ids)) if pads else 0
        encoded_inputs["attention_mask"] = [0] * missing + encoded_inputs.get("attention_mask", [1] * len(ids))
        encoded_inputs["input_ids"] = [self.pad_token_id] * missing + ids
        return encoded_inputs
