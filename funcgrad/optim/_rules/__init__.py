"""The rules: the step of each optimizer for one parameter, and nothing else."""
