"""The rules whose findings an installer's own text gives: known without reading any such text, which wants forty expressions."""

from envdoctor.checks.declared_together import CONTRADICT, REFUSES_PYTHON, UNSATISFIABLE
from envdoctor.checks.requirements import UNMET as LEFT

__all__ = ["BUILD", "CONTRADICT", "LEFT", "NO_FILE", "OF_INSTALLERS", "REFUSES_PYTHON", "UNSATISFIABLE"]

NO_FILE, BUILD = "error-no-distribution", "error-build-failed"
OF_INSTALLERS = frozenset((NO_FILE, CONTRADICT, LEFT, REFUSES_PYTHON, UNSATISFIABLE))
