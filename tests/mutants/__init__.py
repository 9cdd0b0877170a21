"""Faults that are planted into the package one at a time, to count which of them the tests notice."""
