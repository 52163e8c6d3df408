"""The POSIX shell, with what people use of bash: words, expansion, control structures. Nothing is run.

Dockerfiles, launchers and notebooks are read by it, each with its own idea of which commands are reached and of what variables hold.
"""
