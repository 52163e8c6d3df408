"""Code that counts tokens in the patient's interpreter: CPython 3.8 or later, and what stands there of tokenizers."""
