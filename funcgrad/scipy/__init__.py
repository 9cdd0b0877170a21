"""SciPy's functions for arrays of both engines and for tracers, in modules with SciPy's names."""

from funcgrad._public import publish_lazily

__getattr__, __dir__, __all__ = publish_lazily(__name__, __file__)
