"""The report of a run, and its renderers: ``Report -> str``, one module per format."""

FORMATS = ("text", "json", "sarif", "github", "junit", "markdown", "gitlab")
"""What a report can be written as; each is a module of its name with a function ``render``."""
