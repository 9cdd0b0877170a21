"""``fg.intercept()``: NumPy's makers of arrays, and SciPy's functions, for code that cannot be edited."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from funcgrad._core.bind import active_trace
from funcgrad._core.lazy import LazyModule
from funcgrad.numpy._base.dispatch import functions
from funcgrad.numpy._layout import creation, makers

Maker = Callable[..., Any]

_inside: ContextVar[bool] = ContextVar("funcgrad_intercept", default=False)
# What compiles, computes and differentiates: to them NumPy is what it is.
_OTHERS = frozenset(
    {"funcgrad", "jax", "jaxlib", "llvmlite", "ml_dtypes", "numba", "numpy", "opt_einsum", "optree", "torch"}
)


@contextlib.contextmanager
def intercept() -> Iterator[None]:
    """Have NumPy's own makers of arrays give arrays that traced values can be written into, while a transform runs.

    NumPy tells nobody of ``np.zeros(n)``: it is a plain array, and a traced value cannot be written into it. Where the
    code can be edited, write ``np.zeros(n, like=x)`` or ``fnp.zeros(n)``. Where it cannot, call it inside of this:
    ``zeros``, ``ones``, ``empty``, ``full``, ``eye``, ``identity``, ``tri``, ``arange``, ``linspace``, ``logspace``,
    ``geomspace``, ``array``, ``asarray`` and its like, ``copy``, ``fromiter`` and its like, ``loadtxt`` and the
    ``_like`` s then make such arrays, and ``asarray(x)`` of a traced ``x`` is ``x``. They are replaced in ``numpy``,
    and under their own names in modules that imported them from there, until the last of these contexts is left.
    ``np.ndarray(n)`` is not replaced, because it is the type that others compare with: write ``np.empty(n)``.

    SciPy's own functions and distributions, which do not take traced values (``scipy.linalg.cho_factor``,
    ``scipy.stats.norm.logpdf``), are those of ``funcgrad.scipy`` inside, for traced arguments.

    The fits and roots of ``numpy.polynomial`` are those of ``funcgrad.numpy.polynomial``.

    It holds in the thread and context that enter it. Elsewhere, outside of transforms, and when called by NumPy itself
    or by JAX, PyTorch and Numba, the makers do what they always do. It may be nested, goes around a transform or into
    it, and is a decorator as well.

    Returns:
        A context manager, which is a decorator too.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def powers(x, n):
        ...     out = np.zeros(n)
        ...     for i in range(n):
        ...         out[i] = x**i
        ...     return np.sum(out)
        >>> with fg.intercept():
        ...     slope = fg.grad(powers)(2.0, 4)
        >>> float(slope)
        17.0
    """
    token = _inside.set(True)
    if "numpy.polynomial" in sys.modules:
        _take_fits_in()
    try:
        _STAND_INS.enter()
        _redirect.enter()
        yield
    finally:
        _redirect.leave()
        _STAND_INS.leave()
        _inside.reset(token)


def is_intercepted() -> bool:
    """Whether this runs inside of `intercept` and of a transform."""
    return _inside.get() and active_trace() is not None


def _stand_in(function: Maker, ours: Maker) -> Maker:
    """What stands under the name of a maker: NumPy's, unless called from inside, under a transform, by other code."""

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        if _inside.get() and active_trace() is not None and not _is_apart(sys._getframe(1)):
            return ours(*args, **kwargs)
        return function(*args, **kwargs)

    if function in functions:
        # Where NumPy meets ``like=x``, it says which function was called by the name that this stands under.
        functions[make] = functions[function]
    return make


def _is_apart(asking: FrameType) -> bool:
    module = str(asking.f_globals.get("__name__", ""))
    # Sparse matrices compute in C. An example in a docstring has the name of the module that it stands in.
    apart = module.partition(".")[0] in _OTHERS or module.startswith("scipy.sparse")
    return apart and not asking.f_code.co_filename.startswith("<doctest")


def _of_plain(function: Maker) -> Maker:
    """A maker whose arguments are plain."""

    def make(*args: Any, **kwargs: Any) -> Any:
        y = function(*args, **kwargs)
        return creation.taking(y) if getattr(y, "base", None) is None else y

    return make


def _ours() -> Iterator[tuple[str, Maker]]:
    for name in (
        *("arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty", "eye"),
        *("frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "full", "genfromtxt", "identity"),
        *("loadtxt", "ones", "require", "tri", "zeros"),
    ):
        yield name, getattr(makers, name)
    for name in ("copy", "empty_like", "full_like", "linspace", "ones_like", "zeros_like"):
        yield name, getattr(creation, name)
    for name in ("diag", "diagflat", "geomspace", "logspace", "vander"):
        yield name, _of_plain(getattr(np, name))


class StandIns:
    """Functions, and what stands in their places in all modules while there is a context anywhere."""

    def __init__(self, pairs: Iterable[tuple[str, Maker, Maker]] = ()) -> None:
        self.lock = threading.Lock()
        self.entered = 0
        self.pairs: dict[str, list[tuple[Maker, Maker]]] = {}
        # Modules that were looked through, and where they have one of the functions under its name.
        self.known: set[str] = set()
        self.places: dict[Any, tuple[dict[str, Any], str, tuple[Maker, Maker]]] = {}
        for pair in pairs:
            self.add(*pair)

    def add(self, name: str, function: Maker, make: Maker) -> None:
        """Have ``make`` stand in the places of a function from the next context on."""
        with self.lock:
            self.pairs.setdefault(name, []).append((function, make))
            self.known.clear()

    def enter(self) -> None:
        """Put them in their places."""
        with self.lock:
            self.entered += 1
            self._find()
            for names, name, (function, make) in self.places.values():
                if names.get(name) is function:
                    names[name] = make

    def leave(self) -> None:
        """Put the functions back, when the last context is left."""
        with self.lock:
            self.entered -= 1
            if self.entered:
                return
            # A module that was imported meanwhile has what stood there then.
            self._find()
            for names, name, (function, make) in self.places.values():
                if names.get(name) is make:
                    names[name] = function

    def _find(self) -> None:
        """Look through the modules that are new; names come and go in the one that a user works in."""
        new = sys.modules.keys() - self.known
        self.known |= new
        for key in (*new, "__main__"):
            module = sys.modules.get(key)
            if isinstance(module, ModuleType) and (key in _NUMPYS or key.partition(".")[0] not in _OTHERS):
                names = vars(module)
                for name in self.pairs.keys() & names.keys():
                    for pair in self.pairs[name]:
                        if names[name] is pair[0] or names[name] is pair[1]:
                            self.places[id(names), name, id(pair[0])] = names, name, pair


_FAMILIES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "laguerre": "lag",
    "hermite": "herm",
    "hermite_e": "herme",
}
# The modules of NumPy's in which functions are replaced.
_NUMPYS = frozenset({"numpy", *[f"numpy.polynomial.{family}" for family in _FAMILIES]})
_polynomial = LazyModule("funcgrad.numpy.polynomial")


@functools.cache
def _take_fits_in() -> None:
    """What ``numpy.polynomial`` computes by LAPACK: no traced value gets there."""
    for family, prefix in _FAMILIES.items():
        module = sys.modules[f"numpy.polynomial.{family}"]
        for name in (f"{prefix}fit", f"{prefix}roots"):
            function = getattr(module, name)
            _STAND_INS.add(name, function, _stand_in(function, functools.partial(_of_polynomial, name)))


def _of_polynomial(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(_polynomial, name)(*args, **kwargs)


_STAND_INS = StandIns((name, getattr(np, name), _stand_in(getattr(np, name), ours)) for name, ours in _ours())
# It knows our functions for SciPy's, in the modules of SciPy that somebody has imported.
_redirect = LazyModule("funcgrad.scipy._redirect")
