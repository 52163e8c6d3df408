"""The knowledge base: rules, their conditions, and what each has proven."""
