"""What a fact is: its name, its kind, its value, and where it was read."""
