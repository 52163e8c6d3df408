"""A snapshot's code against a library."""
