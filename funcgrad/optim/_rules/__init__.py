"""The rules: what each optimizer does with one parameter, and nothing else."""
