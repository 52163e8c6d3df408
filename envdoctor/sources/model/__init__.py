"""The files of a model: configuration, weights, code, adapters."""
