"""Special functions, elementwise. SciPy computes them on NumPy; on XLA they are formulas, or SciPy on the host."""
