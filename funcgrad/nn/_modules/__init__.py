"""Modules: layers with parameters under PyTorch's names."""
