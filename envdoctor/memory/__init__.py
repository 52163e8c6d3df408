"""How much GPU memory a training plan needs, at which moment, and what would make it fit."""
