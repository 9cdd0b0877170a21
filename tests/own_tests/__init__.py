"""NumPy's and SciPy's own test suites, each call made once more on traced values: ``python -m tests.own_tests``."""
