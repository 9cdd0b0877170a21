"""Rolling: stretches of a program that repeat become structured loops."""
