"""How steps are taken: leaf by leaf, packed, in blocks on all cores, in compiled loops, in single rows."""
