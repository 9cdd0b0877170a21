"""Long programs as lists of instructions for a few compiled loops."""
