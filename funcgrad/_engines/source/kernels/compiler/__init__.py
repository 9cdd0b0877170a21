"""The compiler of kernels: from their text to functions of Python."""
