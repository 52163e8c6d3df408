"""What the patient's interpreter is asked: its version and the directories on its path.

This text is run by the interpreter examined (``python -I -S -B -c``), never imported by envdoctor: plain
syntax, the standard library alone, CPython 3.8 and newer. Nothing that is installed is imported.
The answer is NUL-separated, because no path can hold a NUL, between two marks, because wrappers print.
"""

# Older interpreters run this than the one that ruff is told of.
# ruff: noqa: UP031, UP036

import os
import sys


def main():  # type: ignore[no-untyped-def]
    # Under an old interpreter without -I the first entry is the working directory.
    sys.path[:] = [entry for entry in sys.path if entry]
    version = "%d.%d.%d" % tuple(sys.version_info[:3])
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(sys.version_info[3])
    if level:
        version += "%s%d" % (level, sys.version_info[4])
    implementation = getattr(getattr(sys, "implementation", None), "name", "cpython")
    stdlib = os.path.dirname(os.__file__)
    answer = [("python", version), ("implementation", implementation), ("platform", sys.platform), ("executable", sys.executable or "")]
    if sys.version_info[0] < 3:
        # There importing site runs .pth files, whatever -S says.
        answer += [("site", os.path.join(stdlib, "site-packages"))]
    else:
        import site

        answer += [("path", entry) for entry in sys.path if entry not in (stdlib, os.path.join(stdlib, "lib-dynload"))]
        answer += [("user", site.getusersitepackages())]
        # With -S the prefix of a virtual environment is its own from CPython 3.14 on and its base's before.
        answer += [("site", entry) for entry in site.getsitepackages([sys.base_prefix, sys.base_exec_prefix])]
    encode = getattr(os, "fsencode", str)
    fields = ["<envdoctor-scan"] + [name + "=" + value for name, value in answer] + ["envdoctor-scan>"]
    out = getattr(sys.stdout, "buffer", sys.stdout)
    out.write(encode("\0".join(fields)))
    out.flush()


if __name__ == "__main__":
    main()  # type: ignore[no-untyped-call]
