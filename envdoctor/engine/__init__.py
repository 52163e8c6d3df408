"""From facts and rules to findings."""
