"""How the atlas is made: releases are fetched, read file by file, and what they hold is written down over all of them."""
