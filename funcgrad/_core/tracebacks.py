"""Tracebacks without the library's own frames, which tell a user nothing about the error.

Each function that users call through a transform is an entry point. An exception that leaves it loses the entries of
our frames, and of JAX's frames if JAX ran our function. Frames of the user's code and of other libraries stay, under
any nesting of transforms. A call without an error pays only for one more call.
"""

from __future__ import annotations

import contextlib
import functools
import opcode
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.bind import Trace, Tracer, active_trace, restore
from funcgrad._core.lazy import implementing_rooms, load
from funcgrad.errors import ConcretizationTypeError, UnsupportedFunctionError

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_VARIABLE = "FUNCGRAD_FULL_TRACEBACKS"
_JAXS_NOTE = "JAX_TRACEBACK_FILTERING"

# Whether the code runs inside of ``fg.intercept()``.
inside_intercept: ContextVar[bool] = ContextVar("funcgrad_intercept", default=False)


def takes_traced() -> str:
    """Return advice for a write of a traced value into a plain array."""
    if inside_intercept.get():
        return (
            "fg.intercept() did not see how this array was made: by np.random, by .copy() of an array from outside, "
            "with a structured dtype, or by a function of NumPy's kept under another name. Write a = np.array(a) after "
            "it; in place of a structured dtype, keep an array for each field. If its function f calls np.ndarray(n), "
            "a type, name it: with fg.intercept(f). If it is an argument, differentiate with respect to it, too."
        )
    return (
        "Make one that takes traced values: np.zeros(n, like=x), where x is traced, or fnp.zeros(n) of funcgrad.numpy. "
        "If you cannot edit the code, call it inside: with fg.intercept(). If its function f calls np.ndarray(n), a "
        "type, name it: with fg.intercept(f). If it is an argument, differentiate with respect to it, too."
    )


def written_into_plain() -> str:
    """Return the message for ``out[i] = value`` with a traced value."""
    return (
        "out[i] = value: a traced value was written into an array of plain numbers, where it would carry no "
        f"derivative. {takes_traced()}"
    )


_STORE = opcode.opmap["STORE_SUBSCR"]

_full: ContextVar[bool | None] = ContextVar("full_tracebacks", default=None)


@contextlib.contextmanager
def full_tracebacks(full: bool = True) -> Iterator[None]:
    """Show the library's own frames in the tracebacks of exceptions, or leave them out.

    An exception that leaves a transform shows the lines of the user's code, without those of the library between and
    below them. The environment variable ``FUNCGRAD_FULL_TRACEBACKS=1`` shows all of them from the start. This context
    overrides the variable in the thread that enters it.

    Args:
        full: whether all frames are shown inside the context.

    Returns:
        A context manager that is also a decorator.

    Example:
        >>> import traceback
        >>> import funcgrad as fg
        >>> def frames():
        ...     try:
        ...         fg.grad(lambda x: x / None)(1.0)
        ...     except TypeError as error:
        ...         return len(traceback.extract_tb(error.__traceback__))
        >>> with fg.full_tracebacks(False):
        ...     frames()
        2
        >>> with fg.full_tracebacks():
        ...     frames() > 2
        True
    """
    token = _full.set(full)
    try:
        yield
    finally:
        _full.reset(token)


def fold(error: BaseException) -> None:
    """Remove our frames from the traceback of an exception and of its causes.

    The caller then raises it with a bare ``raise``, which adds no entry for its own frame.
    """
    _explain(error)
    full = _full.get()
    if full if full is not None else os.environ.get(_VARIABLE, "0") not in ("", "0"):
        return
    hidden = _hidden()
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _without(each.__traceback__, hidden)
        _forget_jaxs_note(each)
        pending += [each.__cause__, each.__context__]


# Functions that repair the state after an interruption, which may have come between any two lines.
when_interrupted: list[Callable[[], None]] = []


def let_out(error: BaseException, before: Trace | None) -> None:
    """Prepare an exception to leave an entry point that was entered under this transform.

    Raises:
        ConcretizationTypeError, UnsupportedFunctionError: instead of a ``SystemError`` that hides one of our errors.
    """
    restore(before)
    if isinstance(error, Exception):
        fold(error)
        hidden = error.__cause__
        note = _of_scipy(error.__traceback__)
        # C code ignored our error and went on, as in scipy.optimize.brentq. Python reports only that, or it finds no
        # field of a tracer while the ignored error is set.
        ignored = type(error) is SystemError and isinstance(hidden, ConcretizationTypeError)
        if ignored or (note and type(error) is AttributeError and _is_field(error)):
            shown: Any = UnsupportedFunctionError(note) if note else hidden
            raise shown.with_traceback(error.__traceback__) from (hidden if note else None)
    else:
        for put_in_order in when_interrupted:
            put_in_order()


def _is_field(error: AttributeError) -> bool:
    """Return whether an error names a field that each tracer has."""
    return isinstance(error.obj, Tracer) and (error.name in ("dtype", "shape") or str(error.name).startswith("_"))


def _explain(error: BaseException) -> None:
    """Explain an error of another library: NumPy cannot store a tracer, and SciPy's LAPACK cannot read one."""
    cause = error.__cause__
    if type(error) is ValueError and isinstance(cause, ConcretizationTypeError) and "sequence" in str(error):
        # NumPy replaces the message of any error in a conversion to a number by this one.
        error.args = (written_into_plain() if _at_write(error.__traceback__) else str(cause),)
    note = _of_scipy(error.__traceback__) or _of_assertion(error) or _of_memory(error) or _of_numba(error)
    if note and not isinstance(error, UnsupportedFunctionError) and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


_CALLING = ("scipy.integrate", "scipy.optimize")


def _is_traced(x: object, depth: int = 3) -> bool:
    if isinstance(x, FunctionType):
        # SciPy may call the user's function or a wrapper of it. The traced value is then in a closure.
        return depth > 0 and any(_is_traced(held, depth - 1) for held in _closed_over(x))
    if type(x) is tuple:
        return any(isinstance(each, Tracer) for each in x)
    return isinstance(x, Tracer) or (isinstance(x, np.ndarray) and x.dtype.kind == "O")


def _closed_over(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        # The variable may not be assigned yet.
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


def _at_write(entries: TracebackType | None) -> bool:
    """Return whether the innermost frame is at ``array[i] = value``."""
    last = None
    while entries is not None:
        last, entries = entries, entries.tb_next
    return last is not None and last.tb_frame.f_code.co_code[last.tb_lasti] == _STORE


def _of_assertion(error: BaseException) -> str | None:
    """Return advice for an assertion of NumPy's that asks for the truth of an array, because it is no ``ndarray``."""
    if type(error) is not ValueError or "truth value of an array" not in str(error):
        return None
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    if not frame.f_globals.get("__name__", "").startswith("numpy.testing"):
        return None
    return (
        "numpy.testing.assert_equal and assert_almost_equal compare traced arrays as if they were numbers. Write "
        "assert_array_equal or assert_allclose, which compare all elements."
    )


# Parts of messages of C code that met a tracer, or may have: ``out.flat[i] = x``, ``memoryview(out)[i] = x``.
_IN_C = ("Error setting single item of array", "memoryview: ")


def _of_memory(error: BaseException) -> str | None:
    """Return advice for an error of C code that reads or writes memory, where no method of a tracer is called."""
    said = str(error)
    if not isinstance(error, TypeError | ValueError):
        return None
    if "a bytes-like object is required, not '" in said and "Tracer'" in said:
        return (
            "A traced value has no memory that memoryview, np.frombuffer or bytes could read. Write x itself, or "
            "x.reshape(...) for another shape; fg.stop_gradient(x) gives plain numbers outside of jit and vmap."
        )
    return f"If the value is traced: {written_into_plain()}" if said.startswith(_IN_C) else None


def _of_numba(error: BaseException) -> str | None:
    """Return advice for a function that the user has compiled with Numba, which has no hook for traced values."""
    if not type(error).__module__.startswith("numba.") or "Tracer'" not in str(error):
        return None
    return (
        "A function compiled by Numba (@njit) met a traced value; its machine code reads plain numbers only. Call "
        "f.py_func(...), the function as it was written, or call f by fg.call_numpy inside a fg.custom_jvp function."
    )


def _of_scipy(entries: TracebackType | None) -> str | None:
    """Return advice for an error inside a SciPy function that met a traced value: the name of our function."""
    found = None
    for frame, _ in traceback.walk_tb(entries):
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("scipy.", "numpy.", "funcgrad.")):
            # The user's code was called by SciPy. The advice still holds for the functions that call back with traced
            # values.
            found = found if found is not None and found[0] in _CALLING else None
        elif found is None and module.startswith("scipy.") and any(map(_is_traced, frame.f_locals.values())):
            found = scipys_name(frame)
    if found is None:
        return None
    room, name = found
    return scipys_refusal(room, name)


def scipys_name(frame: FrameType) -> tuple[str, str] | None:
    """Return the public SciPy module of a function, and its name; the name of a method contains that of its object."""
    room, name = _room(frame.f_globals.get("__name__", "")), frame.f_code.co_name
    own = frame.f_locals.get("self")
    if own is not None and room == "scipy.stats":
        # A frozen distribution holds a named one. A distribution of vectors has its name in the name of its class.
        named = getattr(getattr(own, "dist", own), "name", None)
        name = f"{named or type(own).__name__.rpartition('_')[0]}.{name}"
    elif name == "axis_nan_policy_wrapper":
        # SciPy's wrapper of a function that has the option ``nan_policy``.
        name = getattr(frame.f_locals.get("hypotest_fun_in"), "__name__", name)
    elif room == "scipy.special" and name == "__call__":
        name = getattr(own, "__name__", name)
    elif name in {"wrapped", "wrapper"} and room != "scipy._lib":
        # If SCIPY_ARRAY_API=1, these functions choose an implementation, and take traced values.
        return None
    elif own is not None and room == "scipy.interpolate":
        # The methods of these objects belong to base classes, so the class of the object gives the name.
        name = type(own).__name__
    elif room == "scipy._lib":
        # The function that a decorator of SciPy's calls.
        wrapped = frame.f_locals.get("f")
        room, name = _room(str(getattr(wrapped, "__module__", ""))), getattr(wrapped, "__name__", "")
    private = room in {"scipy._lib", "scipy._external"}
    return (room, name) if room.startswith("scipy.") and not private else None


def _room(module: str) -> str:
    """Return the public SciPy module that a module belongs to."""
    deeper = module.startswith(("scipy.sparse.linalg", "scipy.spatial.distance"))
    return ".".join(module.split(".")[: 3 if deeper else 2])


def scipys_refusal(room: str, name: str) -> str:
    """Return the message for a SciPy function that met a traced value, with our function if there is one."""
    remedy = "See fg.scipy for what has a derivative, or call it by fg.call_numpy inside a fg.custom_jvp function."
    remedy = instead(room, name) or remedy
    if has_ours(room, name):
        remedy = (
            f"Call fg.{room}.{name} instead, which has a derivative. If you cannot edit the code, call it "
            "inside: with fg.intercept()."
        )
    return f"{room}.{name} met a traced value; SciPy's own code reads plain numbers only. {remedy}"


def instead(room: str, name: str) -> str | None:
    """Return the reason why one of our modules refuses a SciPy function; a method is found by its own name."""
    ours = _ours(room)
    known: dict[str, str] = getattr(ours, "INSTEAD", {})
    found = known.get(name, known.get(name[name.find(".") :]))
    return None if found is None else f"There is no derivative: {found}"


def compares(room: str, name: str) -> bool:
    """Return whether a SciPy function finds its result by comparisons of the values of a function."""
    return name in getattr(_ours(room), "COMPARES", ())


def _ours(room: str) -> Any:
    """Return our module for one of SciPy's."""
    found: Any = load(implementing_rooms["scipy"]) if "scipy" in implementing_rooms else None
    for part in room.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def has_ours(room: str, name: str) -> bool:
    """Return whether ``funcgrad.scipy`` has a function, or the class of a method, with this name in SciPy."""
    ours = _ours(room)
    first, _, method = name.partition(".")
    return (
        first not in getattr(ours, "TAKE_ELEMENTS", ())
        and first in getattr(ours, "__all__", ())
        and (not method or hasattr(getattr(ours, first), method))
    )


def _hidden() -> tuple[str, ...]:
    """Return the folders of hidden frames: ours, JAX's frames that call us back, and JAX's context managers."""
    paths = [PACKAGE, contextlib.__file__]
    for name in ("jax", "jaxlib"):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path:
            paths.append(os.path.dirname(path) + os.sep)
    return tuple(paths)


def _without(entry: TracebackType | None, hidden: tuple[str, ...]) -> TracebackType | None:
    kept = []
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(hidden):
            kept.append(entry)
        entry = entry.tb_next
    shown = None
    for each in reversed(kept):
        shown = TracebackType(shown, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return shown


def _forget_jaxs_note(error: BaseException) -> None:
    """Remove JAX's note about its hidden frames: our setting decides here."""
    notes = getattr(error, "__notes__", None)
    if notes and any(_JAXS_NOTE in note for note in notes):
        notes[:] = [note for note in notes if _JAXS_NOTE not in note]
        if not notes:
            del error.__notes__


def folded(function: F) -> F:
    """Make a function an entry point: exceptions leave it without our frames."""
    leave, active = let_out, active_trace

    def entry(*args: Any, **kwargs: Any) -> Any:
        before = active()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leave(error, before)
            raise

    # The wrapper gets the function's own globals, so that doctest finds it in the module that defines it.
    own = FunctionType(entry.__code__, getattr(function, "__globals__", globals()), None, None, entry.__closure__)
    return functools.wraps(function)(own)  # pyright: ignore[reportReturnType]  (wraps keeps the signature)


def caller_level() -> int:
    """Return the ``stacklevel`` for ``warn`` that names the innermost frame outside funcgrad, NumPy and JAX."""
    libraries = [np, sys.modules["jax"]] if "jax" in sys.modules else [np]
    skipped = PACKAGE, *[os.path.dirname(os.path.abspath(str(each.__file__))) + os.sep for each in libraries]
    level = 2
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(skipped):
        frame = frame.f_back
        level += 1
    return level
