"""Training plans: one module a dialect, with the function that recognises it and the one that reads it."""
