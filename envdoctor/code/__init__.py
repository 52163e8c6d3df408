"""Code that a snapshot brings along, held against the library that will run it: both sides parsed, neither executed."""
