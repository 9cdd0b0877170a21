"""Functions that leave calls with plain arguments to NumPy, whose function they stand for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.bind import NUMPY_TYPES, active_trace, is_engine_value
from funcgrad._core.words import BARE, retell
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import functions, implements, in_numpys_mode, ufuncs
from funcgrad.numpy._base.foreign import holds_tracer, is_object_array

F = TypeVar("F", bound=Callable[..., Any])

# Functions that tell plain arguments apart themselves.
_beside: set[Any] = set()


def beside_numpys(*numpy_functions: Callable[..., Any]) -> Callable[[F], F]:
    """Register a function for what is traced or of another engine; all else goes to the first of NumPy's functions."""
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


def is_ours(x: Any) -> bool:
    """Whether an argument is traced or of another engine, or a list in which something is."""
    kind = type(x)
    if kind in NUMPY_TYPES or kind is str or x is None:
        return is_object_array(x) and holds_tracer(x)
    if kind is list or kind is tuple:
        return any(map(is_ours, x))
    return holds_tracer(x) or is_engine_value(x)


# The numbers of NumPy's own dtypes, but for that of objects: 16-bit floats of other packages follow rules of ours.
_DTYPES = frozenset(np.dtype(letter).num for letter in np.typecodes["All"] if letter != "O")
_ARRAY = np.ndarray
# Lists that are looked at one by one.
_FEW = 4
# Known by its identity, which takes half of the time.
_FLOAT64 = np.dtype(np.float64)
_PLAIN = {each for each in NUMPY_TYPES if issubclass(each, np.generic)} | {
    *(bool, int, float, complex, str, type, type(None)),
}


def is_plain(x: Any) -> bool:
    """Whether an argument is of NumPy's and Python's own: an array of numbers, a number, an option, a list of these."""
    kind = type(x)
    if kind is _ARRAY:
        return x.dtype.num in _DTYPES
    if kind is not list and kind is not tuple:
        return kind in _PLAIN
    if len(x) > _FEW and _PLAIN.issuperset(map(type, x)):
        return True
    try:
        for each in x:
            # Without a call for what there is most.
            kind = type(each)
            if not (kind is float or (kind is _ARRAY and each.dtype is _FLOAT64)) and not is_plain(each):
                return False
    except RecursionError:
        # Lists without end are refused where they are read.
        return False
    return True


def _by_protocol(ours: Any, ufunc: np.ufunc, args: tuple, options: dict[str, Any]) -> Any:
    """A ufunc with ``out=``, ``where=``, ``dtype=`` or ``casting=``, which its protocol handles for traced values."""
    if any(map(holds_tracer, args)) or any(map(holds_tracer, options.values())):
        return ufunc(*[as_value(x) for x in args[: ufunc.nin]], *args[ufunc.nin :], **options)
    return ours(*args, **options)


# One for each number of arguments that a call must have: what tells them apart one by one costs half of a small sum.
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
    def call(a: Any, *args: Any, **options: Any) -> Any:
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
    def call(a: Any, b: Any, *args: Any, **options: Any) -> Any:
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


# The files of what makes arrays, or copies them: while a transform runs, such as take traced values.
_MAKERS = ("creation", "makers")


def _maker_of_none(ours: Any, numpys: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        try:
            if active_trace() is None and not options and len(args) == 1 and type(args[0]) is int:
                return numpys(*args)
            if active_trace() is None and is_plain(args) and (not options or is_plain([*options.values()])):
                return numpys(*args, **options)
            return ours(*args, **options)
        except BARE as error:
            retell(error, ours, args, options)

    return call


def _maker_of_one(ours: Any, numpys: Any) -> Any:
    def call(a: Any, *args: Any, **options: Any) -> Any:
        try:
            if active_trace() is None:
                kind = type(a)
                if kind is list and not args and not options and len(a) <= _FEW:
                    # Numbers, without a call to tell what they are.
                    for each in a:
                        if not (type(each) is float or type(each) is int):
                            break
                    else:
                        return numpys(a)
                if kind is int or (kind is _ARRAY and a.dtype is _FLOAT64) or is_plain(a):
                    if not args and not options:
                        return numpys(a)
                    if is_plain(args) and (not options or is_plain([*options.values()])):
                        return numpys(a, *args, **options)
            return ours(a, *args, **options)
        except BARE as error:
            retell(error, ours, (a, *args), options)

    return call


_BY_COUNT = (_of_none, _of_one, _of_two)
_MAKERS_BY_COUNT = (_maker_of_none, _maker_of_one)


def shortcut(ours: F, numpys: Callable[..., Any]) -> F:
    """Ours for users to call: plain arguments go straight to NumPy's function, which gives what ours would.

    NumPy's protocols, which have looked at the arguments already, call ours itself.
    """
    makes = ours.__module__.rpartition(".")[2] in _MAKERS
    if isinstance(numpys, np.ufunc):
        names: tuple[str, ...] = ("x1", "x2")[: numpys.nin]
    else:
        # Those without a default; ``inspect.signature`` of all functions would take longer than their modules.
        declared: Any = inspect.unwrap(ours)
        names = declared.__code__.co_varnames[: declared.__code__.co_argcount - len(declared.__defaults__ or ())]
    forms = _MAKERS_BY_COUNT if makes else _BY_COUNT
    call = forms[min(len(names), len(forms) - 1)](ours, numpys)
    count = call.__code__.co_argcount
    # The arguments have ours' names, by which they may be given.
    code: CodeType = call.__code__
    code = code.replace(co_varnames=(*names[:count], *code.co_varnames[count:]))
    named: Any = FunctionType(code, call.__globals__, call.__name__, None, call.__closure__)
    functools.update_wrapper(named, ours)
    return named


def shortcuts(public: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Of a module's public functions, by their names, those that stand for NumPy's with a shortcut to these.

    What was registered by `beside_numpys` needs none.
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
