"""``fg.intercept()``: NumPy's makers of arrays, for code that cannot be edited."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from funcgrad._core.bind import active_trace
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
    try:
        _STAND_INS.enter()
        yield
    finally:
        _STAND_INS.leave()
        _inside.reset(token)


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
    package = str(asking.f_globals.get("__name__", "")).partition(".")[0]
    # An example in a docstring has the name of the module that it stands in.
    return package in _OTHERS and not asking.f_code.co_filename.startswith("<doctest")


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


class _StandIns:
    """The makers of all modules, exchanged while there is a context anywhere."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entered = 0
        self.pairs = {name: (getattr(np, name), _stand_in(getattr(np, name), ours)) for name, ours in _ours()}
        # Modules that were looked through, and where they have a maker under its name.
        self.known: set[str] = set()
        self.places: list[tuple[dict[str, Any], str]] = []

    def enter(self) -> None:
        with self.lock:
            self.entered += 1
            self._find()
            for names, name in self.places:
                function, make = self.pairs[name]
                if names.get(name) is function:
                    names[name] = make

    def leave(self) -> None:
        with self.lock:
            self.entered -= 1
            if self.entered:
                return
            # A module that was imported meanwhile has what stood there then.
            self._find()
            for names, name in self.places:
                function, make = self.pairs[name]
                if names.get(name) is make:
                    names[name] = function

    def _find(self) -> None:
        """Look through the modules that are new; names come and go in the one that a user works in."""
        new = sys.modules.keys() - self.known
        self.known |= new
        for key in (*new, "__main__"):
            module = sys.modules.get(key)
            if isinstance(module, ModuleType) and (module is np or key.partition(".")[0] not in _OTHERS):
                names = vars(module)
                found = [(names, name) for name, pair in self.pairs.items() if _is_one(names.get(name), pair)]
                self.places += [each for each in found if key != "__main__" or not self._has(each)]

    def _has(self, place: tuple[dict[str, Any], str]) -> bool:
        return any(names is place[0] and name == place[1] for names, name in self.places)


def _is_one(value: Any, pair: tuple[Maker, Maker]) -> bool:
    return value is pair[0] or value is pair[1]


_STAND_INS = _StandIns()
