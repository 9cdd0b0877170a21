"""The Array API's own test suite, run on traced values: ``python -m tests.array_api``."""
