"""Long programs are rolled before they are differentiated, where the numbers stay the same."""
