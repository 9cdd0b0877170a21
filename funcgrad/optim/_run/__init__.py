"""Ways to take a step: leaf by leaf, packed, in blocks on all cores, in compiled loops, in single rows."""
