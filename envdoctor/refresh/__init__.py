"""How the tables of released packages are made: the package index is asked, and what it says is written down with its day."""
