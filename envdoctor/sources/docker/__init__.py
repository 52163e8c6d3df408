"""What a Dockerfile builds: its grammar, the shell of its RUN lines, what they install, and what base images bring.

Nothing is built, run or fetched: images are known by their tags and by a table, files by the build context beside
the Dockerfile.
"""
