"""A doctor for the environments in which people fine-tune language models."""

__version__ = "0.1.0"
