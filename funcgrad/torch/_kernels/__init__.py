"""Functions of PyTorch's namespace that take the arguments of its kernels."""
