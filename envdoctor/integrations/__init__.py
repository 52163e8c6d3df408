"""What runs inside a training: CPython 3.8 or later, the standard library and the packages that the training has anyway."""
