"""Whether operations on tensors are recorded: ``no_grad`` and similar modes, per thread and context."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, Self

recording: ContextVar[bool] = ContextVar("funcgrad_recording", default=True)


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

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, which then runs in this mode. A generator does so between its yields."""
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            with recorded(self._recorded):
                return function(*args, **kwargs)

        return in_mode

    def _around_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
        def resumed(resume: Callable[..., Any], *args: Any) -> Any:
            with recorded(self._recorded):
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
    """Record nothing: results require no gradient, whatever their operands do.

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
