"""Functions that leave calls with plain arguments to NumPy's functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.bind import NUMPY_TYPES, active_trace, is_engine_value
from funcgrad._core.words import BARE, retell
from funcgrad._types import ArrayLike
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import functions, implements, in_numpys_mode, ufuncs
from funcgrad.numpy._base.foreign import holds_tracer, is_object_array

F = TypeVar("F", bound=Callable[..., Any])

# Functions that test for plain arguments themselves.
_beside: set[Any] = set()


def beside_numpys(*numpy_functions: Callable[..., Any]) -> Callable[[F], F]:
    """Register a function for traced values and other engines; all other calls go to the first NumPy function."""
    numpys = numpy_functions[0]

    def register(function: F) -> F:
        within = in_numpys_mode(function)

        @functools.wraps(function)
        def ours(*args: Any, **kwargs: Any) -> Any:
            try:
                if any(map(is_ours, args)) or any(map(is_ours, kwargs.values())):
                    return within(*args, **kwargs)
                return numpys(*args, **kwargs)
            except BARE as error:
                retell(error, function, args, kwargs)

        _beside.add(ours)
        return implements(*numpy_functions)(ours)  # pyright: ignore[reportReturnType]  (wraps keeps the signature)

    return register


def tests_itself(function: F) -> F:
    """Register a function that has arguments which NumPy's lacks, and calls NumPy's function itself."""
    _beside.add(function)
    return function


def is_ours(x: ArrayLike) -> bool:
    """Return whether an argument is traced or of another engine, or a list that contains such a value."""
    kind = type(x)
    if kind in NUMPY_TYPES or kind is str or x is None:
        return is_object_array(x) and holds_tracer(x)
    if kind is list or kind is tuple:
        return any(map(is_ours, x))
    return holds_tracer(x) or is_engine_value(x)


# NumPy's own dtypes of numbers, without objects: 16-bit floats of other packages follow our rules.
_DTYPES = frozenset(np.dtype(letter).num for letter in np.typecodes["All"] if letter != "O")
_ARRAY = np.ndarray
# Lists up to this length are tested element by element.
_FEW = 4
# Compared by identity, which takes half the time.
_FLOAT64 = np.dtype(np.float64)
_PLAIN = {each for each in NUMPY_TYPES if issubclass(each, np.generic)} | {
    *(bool, int, float, complex, str, type, type(None)),
}


def is_plain(x: ArrayLike) -> bool:
    """Return whether an argument is NumPy's or Python's own.

    An array of numbers, a number, an option, or a list of these.
    """
    kind = type(x)
    if kind is _ARRAY:
        return x.dtype.num in _DTYPES
    if kind is not list and kind is not tuple:
        return kind in _PLAIN
    if len(x) > _FEW and _PLAIN.issuperset(map(type, x)):
        return True
    try:
        for each in x:
            # The most common types are tested without a call.
            kind = type(each)
            if not (kind is float or (kind is _ARRAY and each.dtype is _FLOAT64)) and not is_plain(each):
                return False
    except RecursionError:
        # An endless list is refused by the function that reads it.
        return False
    return True


def _by_protocol(ours: Any, ufunc: np.ufunc, args: tuple, options: dict[str, Any]) -> Any:
    """Call a ufunc with ``out=``, ``where=``, ``dtype=`` or ``casting=``; its protocol handles traced values."""
    if any(map(holds_tracer, args)) or any(map(holds_tracer, options.values())):
        return ufunc(*[as_value(x) for x in args[: ufunc.nin]], *args[ufunc.nin :], **options)
    return ours(*args, **options)


# One function for each number of required arguments: a loop over the arguments takes half the time of a small sum.
def _of_none(ours: Any, numpys: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        try:
            if is_plain(args) and (not options or is_plain([*options.values()])):
                return numpys(*args, **options)
            return ours(*args, **options)
        except BARE as error:
            retell(error, ours, args, options)

    return call


def _of_one(ours: Any, numpys: Any) -> Any:
    def call(a: ArrayLike, *args: Any, **options: Any) -> Any:
        try:
            if (type(a) is _ARRAY and ((dtype := a.dtype) is _FLOAT64 or dtype.num in _DTYPES)) or is_plain(a):
                if not args and not options:
                    return numpys(a)
                if is_plain(args) and (not options or is_plain([*options.values()])):
                    return numpys(a, *args, **options)
            if (args or options) and type(numpys) is np.ufunc:
                return _by_protocol(ours, numpys, (a, *args), options)
            return ours(a, *args, **options)
        except BARE as error:
            retell(error, ours, (a, *args), options)

    return call


def _of_two(ours: Any, numpys: Any) -> Any:
    def call(a: ArrayLike, b: ArrayLike, *args: Any, **options: Any) -> Any:
        try:
            if (
                type(a) is _ARRAY is type(b)
                and ((dtype := a.dtype) is _FLOAT64 or dtype.num in _DTYPES)
                and (dtype is b.dtype or b.dtype.num in _DTYPES)
            ) or (is_plain(a) and is_plain(b)):
                if not args and not options:
                    return numpys(a, b)
                if is_plain(args) and (not options or is_plain([*options.values()])):
                    return numpys(a, b, *args, **options)
            if (args or options) and type(numpys) is np.ufunc:
                return _by_protocol(ours, numpys, (a, b, *args), options)
            return ours(a, b, *args, **options)
        except BARE as error:
            retell(error, ours, (a, b, *args), options)

    return call


# The files of functions that make or copy arrays: while a transform runs, their results take traced values.
_MAKERS = ("creation", "makers")


def without_number(options: dict[str, Any]) -> dict[str, Any]:
    """Return a maker's options, without ``like`` if that is a number: NumPy's makers refuse numbers there."""
    if issubclass(type(options.get("like")), int | float | complex | np.generic):
        return {name: value for name, value in options.items() if name != "like"}
    return options


def _maker_of_none(ours: Any, numpys: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        try:
            if active_trace() is None and not options and len(args) == 1 and type(args[0]) is int:
                return numpys(*args)
            if active_trace() is None and is_plain(args) and (not options or is_plain([*options.values()])):
                return numpys(*args, **without_number(options))
            return ours(*args, **options)
        except BARE as error:
            retell(error, ours, args, options)

    return call


def _maker_of_one(ours: Any, numpys: Any) -> Any:
    def call(a: ArrayLike, *args: Any, **options: Any) -> Any:
        try:
            if active_trace() is None:
                kind = type(a)
                if kind is list and not args and not options and len(a) <= _FEW:
                    # Numbers are tested without a call.
                    for each in a:
                        if not (type(each) is float or type(each) is int):
                            break
                    else:
                        return numpys(a)
                if kind is int or (kind is _ARRAY and a.dtype is _FLOAT64) or is_plain(a):
                    if not args and not options:
                        return numpys(a)
                    if is_plain(args) and (not options or is_plain([*options.values()])):
                        return numpys(a, *args, **without_number(options))
            return ours(a, *args, **options)
        except BARE as error:
            retell(error, ours, (a, *args), options)

    return call


_BY_COUNT = (_of_none, _of_one, _of_two)
_MAKERS_BY_COUNT = (_maker_of_none, _maker_of_one)


def shortcut(ours: F, numpys: Callable[..., Any]) -> F:
    """Return our function for users: plain arguments go straight to NumPy's function, which gives the same result.

    NumPy's protocols have tested the arguments already, and call our function directly.
    """
    makes = ours.__module__.rpartition(".")[2] in _MAKERS
    if isinstance(numpys, np.ufunc):
        names: tuple[str, ...] = ("x1", "x2")[: numpys.nin]
    else:
        # The arguments without a default. ``inspect.signature`` of all functions would take longer than importing them.
        declared: Any = inspect.unwrap(ours)
        names = declared.__code__.co_varnames[: declared.__code__.co_argcount - len(declared.__defaults__ or ())]
    forms = _MAKERS_BY_COUNT if makes else _BY_COUNT
    call = forms[min(len(names), len(forms) - 1)](ours, numpys)
    count = call.__code__.co_argcount
    # The arguments get the names of our function's, so that calls by keyword work.
    code: CodeType = call.__code__
    code = code.replace(co_varnames=(*names[:count], *code.co_varnames[count:]))
    named: Any = FunctionType(code, call.__globals__, call.__name__, None, call.__closure__)
    functools.update_wrapper(named, ours)
    return named


def shortcuts(public: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return shortcuts for those of a module's public functions that implement a NumPy function.

    Functions registered by `beside_numpys` need none.
    """
    found = {}
    for name, ours in public.items():
        numpys = getattr(np, name, None)
        if (
            type(ours) is FunctionType
            and ours not in _beside
            and callable(numpys)
            and (functions.get(numpys) is ours or ufuncs.get(numpys) is ours)  # pyright: ignore[reportArgumentType]  (any function may be asked for)
        ):
            found[name] = shortcut(ours, numpys)
    return found
