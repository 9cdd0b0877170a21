"""Sparse Jacobians and Hessians, and row-sparse gradients."""

from funcgrad._public import publish_lazily

__getattr__, __dir__, __all__ = publish_lazily(__name__, __file__)
