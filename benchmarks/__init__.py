"""Side-by-side measurements of funcgrad and its peers; run with `python -m benchmarks`."""
