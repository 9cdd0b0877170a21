"""Functions that choose elements: indexing, conditions, and updates."""
