"""Cures: the exact releases that clear a finding, and the smallest set that clears them all."""
