"""Facts from training scripts and notebooks, read as syntax trees: nothing is imported or executed."""
