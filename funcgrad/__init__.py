"""Plain NumPy functions in; gradients, graphs and compiled programs out."""

from funcgrad import _report as _report
from funcgrad._core.lazy import implementing_rooms as _implementing_rooms
from funcgrad._public import publish_lazily as _publish_lazily

# The room that implements a module of SciPy's is loaded when one of its functions first meets a traced value.
_implementing_rooms.update(
    {
        "primitives": "funcgrad._ops",
        "scipy": "funcgrad.scipy",
        "scipy.special": "funcgrad.scipy.special",
    }
)

# The public names, and the module of each, are in ``__init__.pyi``.
__getattr__, __dir__, __all__ = _publish_lazily(__name__, __file__)
__version__ = "0.1.0"
