"""Digests of files, as fast as the machine can make them, and a memory of digests made before."""
