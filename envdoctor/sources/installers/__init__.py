"""What installers are asked for, by the words of their commands: pip, uv, conda, poetry, pdm, apt."""
