"""Engines that write a program's source: straight-line NumPy."""
