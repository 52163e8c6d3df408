"""The report of a run, and its renderers: ``Report -> str``, one module per format."""
