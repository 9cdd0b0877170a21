"""SciPy's functions for arrays of either engine and for tracers, in modules of SciPy's names."""

from funcgrad._public import publish_lazily

__getattr__, __dir__, __all__ = publish_lazily(__name__, __file__)
