"""Loops, branches and recomputation."""
