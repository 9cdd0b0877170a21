"""``fg.intercept()``: replaces NumPy's makers of arrays, and SciPy's functions, for code that cannot be edited."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from funcgrad._core.bind import active_trace
from funcgrad._core.lazy import LazyModule
from funcgrad._core.tracebacks import inside_intercept
from funcgrad.numpy._base.caller import Caller, caller
from funcgrad.numpy._base.dispatch import functions
from funcgrad.numpy._base.plain import without_number
from funcgrad.numpy._layout import creation, makers

Maker = Callable[..., Any]

# Packages that compile, compute or differentiate. For them NumPy's functions stay unchanged.
_OTHERS = frozenset(
    {"funcgrad", "jax", "jaxlib", "llvmlite", "ml_dtypes", "numba", "numpy", "opt_einsum", "optree", "torch"}
)


@contextlib.contextmanager
def intercept(*code: Callable[..., Any] | ModuleType) -> Iterator[None]:
    """Make NumPy's makers of arrays return arrays that traced values can be written into, while a transform runs.

    NumPy does not report a call of ``np.zeros(n)``. Its result is a plain array, and a traced value cannot be written
    into it. In code that can be edited, write ``np.zeros(n, like=x)`` or ``fnp.zeros(n)``. Other code can be called
    inside of this context. Then these functions make arrays that take traced values: ``zeros``, ``ones``, ``empty``,
    ``full``, ``eye``, ``identity``, ``tri``, ``arange``, ``linspace``, ``logspace``, ``geomspace``, ``array``,
    ``asarray`` and its variants, ``copy``, ``fromiter`` and its variants, ``loadtxt`` and the ``_like`` functions.
    ``asarray(x)`` of a traced ``x`` returns ``x``. The functions are replaced in ``numpy``, and in modules that
    imported them under their own names, until the last of these contexts ends.
    ``np.ndarray`` is a type, which other code compares by identity, so it stays in ``numpy``. If the code calls
    ``np.ndarray(n)`` to make an array, name the function that does: ``fg.intercept(f)``. In the module of ``f``, the
    names of NumPy and of its type are replaced inside the context.

    An array that comes from elsewhere (``np.random``, ``a.copy()`` of an array from outside, or a maker that a class
    keeps) takes traced values after ``a = np.array(a)``. Arrays of a structured dtype take none.

    SciPy's functions and distributions that do not take traced values (``scipy.linalg.cho_factor``,
    ``scipy.stats.norm.logpdf``) are replaced by those of ``funcgrad.scipy`` for traced arguments,
    and so are SciPy's sparse matrices of traced elements (``coo_matrix``, ``csr_matrix``, ``csc_matrix``, ``diags``).

    The functions of Python's ``math`` that return a float (``math.sin``, ``math.atan2``) take traced numbers of
    float64, and their results are float64. Where Python raises an error for a number that is not known yet, the result
    is NaN or infinite.

    The fits and roots of ``numpy.polynomial`` are replaced by those of ``funcgrad.numpy.polynomial``. Its functions of
    arithmetic (``polymul``, ``chebadd``) and its classes compile: a coefficient that is not known stays, also if it is
    zero.

    The context holds in the thread and context that enter it. Elsewhere, outside of transforms, and in calls by NumPy,
    JAX, PyTorch, Numba or compiled code, the makers do what they always do. A call comes from compiled code if the
    Python code before it is at a call of something else, or does not contain the maker's name; so call a maker by its
    own name. The context may be nested, and may enclose a transform or be inside one.

    Args:
        code: functions, or modules, that call ``np.ndarray(n)``. Their source may use ``np.ndarray`` in calls, in
            annotations, and in ``isinstance`` and ``issubclass``.

    Returns:
        A context manager that is also a decorator.

    Raises:
        ValueError: If the module of a named function uses ``np.ndarray`` otherwise, as in ``type(x) is np.ndarray``, or
            its source is not there.
        TypeError: If an argument is neither a function nor a module.

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
    token = inside_intercept.set(True)
    _take_math_in()
    if "numpy.polynomial" in sys.modules:
        _take_fits_in()
    try:
        _STAND_INS.enter()
        _redirect.enter()
        with _array_type.made_in(code, is_intercepted) if code else contextlib.nullcontext():
            yield
    finally:
        _redirect.leave()
        _STAND_INS.leave()
        inside_intercept.reset(token)


def is_intercepted() -> bool:
    """Return whether the code runs inside of `intercept` and of a transform."""
    return inside_intercept.get() and active_trace() is not None


def _stand_in(function: Maker, ours: Maker, name: str = "") -> Maker:
    """Return a replacement for a maker. It calls NumPy's function unless other code calls it inside a transform.

    Args:
        function: NumPy's function.
        ours: the function that takes traced values.
        name: the name by which Python code calls it; any name if empty.
    """

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        if inside_intercept.get() and active_trace() is not None and not _is_apart(caller(), name, make):
            return ours(*args, **kwargs)
        return function(*args, **without_number(kwargs))

    if function in functions:
        # For ``like=x``, NumPy identifies the function by the object that has its name, so the replacement is
        # registered too.
        functions[make] = functions[function]
    return make


def _is_apart(by: Caller, name: str, function: Maker) -> bool:
    """Return whether a caller gets NumPy's own function."""
    if name and not by.calls(name, function):
        # Compiled code, as that of pandas or of NumPy's generators, has no frame: the caller is the Python code that
        # entered it. It reads the memory of what it makes, which a traced array does not have.
        return True
    module = by.module
    # Sparse matrices compute in C.
    return (module.partition(".")[0] in _OTHERS or module.startswith("scipy.sparse")) and not by.is_example


def _of_plain(function: Maker) -> Maker:
    """Return a maker that gets plain arguments."""

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
    """Functions and their replacements in all modules, while a context exists anywhere."""

    def __init__(self, pairs: Iterable[tuple[str, Maker, Maker]] = ()) -> None:
        self.lock = threading.Lock()
        self.entered = 0
        self.pairs: dict[str, list[tuple[Maker, Maker]]] = {}
        # Modules that were searched, and the places where a module has one of the functions under its name. A module
        # that is removed from ``sys.modules`` and imported again is another one.
        self.known: dict[str, ModuleType | None] = {}
        self.places: dict[Any, tuple[Any, str, tuple[Any, Any]]] = {}
        for pair in pairs:
            self.add(*pair)

    def add(self, name: str, function: Maker, make: Maker) -> None:
        """Replace a function by ``make`` from the next context on."""
        with self.lock:
            self.pairs.setdefault(name, []).append((function, make))
            self.known.clear()

    def add_method(self, owner: type, name: str, function: Any, make: Any) -> None:
        """Replace an attribute of a class by ``make`` from the next context on."""
        with self.lock:
            self.places[id(owner), name, id(function)] = owner, name, (function, make)

    def enter(self) -> None:
        """Put the replacements in place."""
        with self.lock:
            self.entered += 1
            self._find()
            for owner, name, (function, make) in self.places.values():
                if vars(owner).get(name) is function:
                    setattr(owner, name, make)

    def leave(self) -> None:
        """Restore the functions when the last context ends."""
        with self.lock:
            self.entered -= 1
            if self.entered:
                return
            # A module that was imported meanwhile has imported the replacements.
            self._find()
            for owner, name, (function, make) in self.places.values():
                if vars(owner).get(name) is make:
                    setattr(owner, name, function)

    def _find(self) -> None:
        """Search new modules. The names of the user's own module may change at any time, so it is searched again."""
        new = [key for key, module in tuple(sys.modules.items()) if self.known.get(key, self) is not module]
        self.known.update({key: sys.modules.get(key) for key in new})
        for key in (*new, "__main__"):
            module = sys.modules.get(key)
            if isinstance(module, ModuleType) and (key in _NUMPYS or key.partition(".")[0] not in _OTHERS):
                names = vars(module)
                for name in self.pairs.keys() & names.keys():
                    for pair in self.pairs[name]:
                        if names[name] is pair[0] or names[name] is pair[1]:
                            self.places[id(module), name, id(pair[0])] = module, name, pair


_FAMILIES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "laguerre": "lag",
    "hermite": "herm",
    "hermite_e": "herme",
}
# NumPy's modules in which functions are replaced.
_NUMPYS = frozenset({"numpy", *[f"numpy.polynomial.{family}" for family in _FAMILIES]})
_python_math = LazyModule("funcgrad.numpy._array.python_math")
_array_type = LazyModule("funcgrad.numpy._array.array_type")
_polynomial = LazyModule("funcgrad.numpy.polynomial")
_coefficients = LazyModule("funcgrad.numpy._contract.coefficients")


@functools.cache
def _take_math_in() -> None:
    """Replace the functions of ``math`` for traced numbers."""
    for pair in _python_math.stand_ins(is_intercepted):
        _STAND_INS.add(*pair)


@functools.cache
def _take_fits_in() -> None:
    """Replace the functions and methods that use LAPACK, or that ask which coefficients are zero."""
    for family, prefix in _FAMILIES.items():
        module = sys.modules[f"numpy.polynomial.{family}"]
        for name in (f"{prefix}fit", f"{prefix}roots"):
            function = getattr(module, name)
            _STAND_INS.add(name, function, _stand_in(function, functools.partial(_of_polynomial, name)))
        for name in (f"{prefix}{operation}" for operation in ("add", "sub", "mul", "mulx", "div", "pow")):
            function = getattr(module, name)
            _STAND_INS.add(name, function, _stand_in(function, _coefficients.keeps_unknown(function)))
        [kind] = [each for each in vars(np.polynomial).values() if getattr(each, "__module__", "") == module.__name__]
        for name in ("fit", "roots"):
            _take_method_in(kind, f"_{name}", functools.partial(_of_polynomial, f"{prefix}{name}"))
        for name in ("_add", "_sub", "_mul", "_div", "_pow"):
            _take_method_in(kind, name, _coefficients.keeps_unknown(getattr(kind, name)))


def _take_method_in(kind: type, name: str, ours: Maker) -> None:
    """Replace a function of a class of ``numpy.polynomial``. NumPy's own code calls it, for the user's."""
    function = getattr(kind, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (ours if is_intercepted() else function)(*args, **kwargs)

    _STAND_INS.add_method(kind, name, vars(kind)[name], staticmethod(call))


def _of_polynomial(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(_polynomial, name)(*args, **kwargs)


_STAND_INS = StandIns((name, getattr(np, name), _stand_in(getattr(np, name), ours, name)) for name, ours in _ours())
# This module finds our function for each SciPy function in the imported modules of SciPy.
_redirect = LazyModule("funcgrad.scipy._redirect")
