"""Python that is read and never run: one parser within bounds, and what operators make of constants."""
