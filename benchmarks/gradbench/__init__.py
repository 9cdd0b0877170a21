"""The twelve evaluations of GradBench (https://github.com/gradbench/gradbench, MIT), as plain NumPy programs."""
