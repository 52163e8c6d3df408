"""How long the rows of training data are under the snapshot's own tokenizer, and what padding them costs."""
