"""From error text to the rules that explain it."""
