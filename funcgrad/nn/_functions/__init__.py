"""Functions of arrays: layers, activation functions and losses, as ``funcgrad.nn`` publishes them."""
