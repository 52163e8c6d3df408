"""What the files of a model directory are, whether they changed, and what the change means."""
