"""Whether operations on tensors are recorded: ``no_grad`` and similar modes, per thread and context."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, Self

recording: ContextVar[bool] = ContextVar("funcgrad_recording", default=True)
# Whether new tensors are inference tensors.
inferring: ContextVar[bool] = ContextVar("funcgrad_inferring", default=False)


def is_grad_enabled() -> bool:
    """Tell whether operations on tensors are recorded here.

    Returns:
        False inside of `no_grad`, else True.

    Example:
        >>> from funcgrad.autograd import is_grad_enabled, no_grad
        >>> with no_grad():
        ...     is_grad_enabled()
        False
    """
    return recording.get()


class recorded:  # noqa: N801  (a verb, as in ``with recorded(True)``)
    """Record operations on tensors, or not, inside a ``with`` statement.

    The mode before is restored even after an error.
    """

    __slots__ = ("_before", "_flag")

    def __init__(self, flag: bool) -> None:
        self._flag = flag

    def __enter__(self) -> None:
        self._before = recording.get()
        recording.set(self._flag)

    def __exit__(self, *_: object) -> None:
        recording.set(self._before)


# Functions that are called when inference mode begins.
on_inference: list[Callable[[], None]] = []


class _Inferred:
    """Make inference tensors and record nothing inside a ``with`` statement, or neither: PyTorch's inference mode."""

    __slots__ = ("_before", "_flag")

    def __init__(self, flag: bool) -> None:
        self._flag = flag

    def __enter__(self) -> None:
        self._before = recording.get(), inferring.get()
        for begin in on_inference if self._flag else ():
            begin()
        recording.set(not self._flag)
        inferring.set(self._flag)

    def __exit__(self, *_: object) -> None:
        recording.set(self._before[0])
        inferring.set(self._before[1])


class _Mode:
    """A context manager that is also a decorator, with or without parentheses."""

    _recorded: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def __init__(self) -> None:
        # The outer mode of each entry: the object may be entered again while it is entered.
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(recording.get())
        recording.set(self._recorded)

    def __exit__(self, *_: object) -> None:
        recording.set(self._outer.pop())

    def _switched(self) -> Any:
        """Return a context manager for one call."""
        return recorded(self._recorded)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, which then runs in this mode. A generator does so between its yields."""
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            with self._switched():
                return function(*args, **kwargs)

        return in_mode

    def _around_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
        def resumed(resume: Callable[..., Any], *args: Any) -> Any:
            with self._switched():
                return resume(*args)

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **kwargs)
            resume: tuple[Any, ...] = (next, generator)
            try:
                while True:
                    y = resumed(*resume)
                    try:
                        resume = generator.send, (yield y)
                    except Exception as error:  # noqa: BLE001  (the generator's to handle)
                        resume = generator.throw, error
            except StopIteration as stop:
                return stop.value
            finally:
                resumed(generator.close)

        return in_mode


class no_grad(_Mode):  # noqa: N801  (PyTorch's name)
    """Record nothing: results require no gradient, for any operands.

    Usable as a context manager and as a decorator.

    Example:
        >>> from funcgrad.autograd import no_grad, tensor
        >>> x = tensor([1.0], requires_grad=True)
        >>> with no_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    _recorded = False


class enable_grad(_Mode):  # noqa: N801  (PyTorch's name)
    """Record operations, also inside `no_grad`.

    Usable as a context manager and as a decorator.

    Example:
        >>> from funcgrad.autograd import enable_grad, no_grad, tensor
        >>> x = tensor([1.0], requires_grad=True)
        >>> with no_grad(), enable_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        True
    """

    _recorded = True


class set_grad_enabled(_Mode):  # noqa: N801  (PyTorch's name)
    """Switch recording on or off from here on, and back at the end of a ``with`` statement.

    Args:
        mode: whether operations are recorded.

    Example:
        >>> from funcgrad.autograd import set_grad_enabled, tensor
        >>> x = tensor([1.0], requires_grad=True)
        >>> with set_grad_enabled(False):
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    def __new__(cls, mode: bool) -> Self:
        del mode
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._recorded = bool(mode)
        self._before: bool | None = recording.get()
        recording.set(self._recorded)

    def __enter__(self) -> None:
        super().__enter__()
        if self._before is not None:
            self._outer[-1] = self._before
            self._before = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, and undo the switch of the constructor."""
        if self._before is not None:
            recording.set(self._before)
        return super().__call__(function)


class inference_mode(_Mode):  # noqa: N801  (PyTorch's name)
    """``torch.inference_mode``: record nothing, as `no_grad`, and make inference tensors.

    It is a context manager and a decorator. ``t.is_inference()`` tells whether a tensor was made in this mode. Such a
    tensor cannot be written to outside of it, and no recorded operation can keep it: ``t.clone()`` is a usual tensor.

    Args:
        mode: whether the mode is on. ``inference_mode(False)`` records again.

    Example:
        >>> import funcgrad.torch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.inference_mode():
        ...     y = 2 * x
        >>> y.requires_grad, y.is_inference(), x.is_inference()
        (False, True, False)

    Source: ``torch.inference_mode``.
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if not callable(mode):
            return made
        # As a decorator without parentheses, it gets the function.
        made.__init__()
        return made(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._entered: list[_Inferred] = []

    def _switched(self) -> Any:
        return _Inferred(self.mode)

    def __enter__(self) -> None:
        self._entered.append(self._switched())
        self._entered[-1].__enter__()

    def __exit__(self, *details: object) -> None:
        self._entered.pop().__exit__(*details)
