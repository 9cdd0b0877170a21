"""Loops, branches and what is computed again."""
