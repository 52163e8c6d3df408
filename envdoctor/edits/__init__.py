"""Changes to the files in which a project keeps its requirements and plans: nothing moves but what has to."""
