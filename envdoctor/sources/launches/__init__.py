"""Shell launchers: what a script's commands are, what their words come to, and what the run is told by them."""
