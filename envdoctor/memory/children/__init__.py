"""What runs in the patient's interpreter: CPython 3.8 or later, the standard library and the patient's own packages."""
