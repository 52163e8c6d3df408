"""Files of unknown origin, read within bounds, and the place where envdoctor keeps its own."""
