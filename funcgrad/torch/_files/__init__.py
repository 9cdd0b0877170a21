"""Files of PyTorch's: written in its format, and read without running anything that they name."""
