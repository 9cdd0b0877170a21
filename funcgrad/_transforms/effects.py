"""``debug_print`` and ``breakpoint``: show numbers when a program runs, under every transform and on every engine."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.bind import is_value
from funcgrad._core.graph.ir import Line
from funcgrad._core.tracebacks import PACKAGE, folded
from funcgrad._ops.program.effect import effect_p
from funcgrad._transforms.base.arguments import taken
from funcgrad._types import PyTree
from funcgrad.tree import TreeDef, flatten, unflatten

# A mark in a pytree for a value that is known only when the program runs.
_COMES = object()


class _Show(NamedTuple):
    """An effect: a function of a pytree. Some leaves are known beforehand, and the others arrive as arrays."""

    show: Callable[[Any], None]
    name: str
    treedef: TreeDef
    leaves: tuple[Any, ...]

    def __call__(self, *xs: np.ndarray) -> None:
        # The arrays are copied, because a program may write its next numbers into them.
        coming = iter([np.array(x)[()] for x in xs])
        self.show(unflatten(self.treedef, [next(coming) if leaf is _COMES else leaf for leaf in self.leaves]))


def effect(show: Callable[[Any], None], name: str, tree: PyTree, ordered: bool) -> None:
    found, treedef = flatten(tree)
    leaves = [taken(leaf) for leaf in found]
    known = tuple([_COMES if is_value(leaf) else leaf for leaf in leaves])
    effect_p(*filter(is_value, leaves), function=_Show(show, name, treedef, known), ordered=ordered)


class _TemplateCheck(string.Formatter):
    """Checks whether a template and its arguments match, and formats nothing."""

    def __init__(self, template: str) -> None:
        self._template = template

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if key in kwargs or (isinstance(key, int) and key < len(args)):
            return super().get_value(key, args, kwargs)
        wanted = f"argument {key}" if isinstance(key, int) else f"an argument {key!r}"
        raise ValueError(
            f"debug_print: {self._template!r} has a place for {wanted}; the call has {len(args)} positional arguments "
            f"and the names {sorted(kwargs)}. Pass it: fg.debug_print('x = {{x}}', x=x). To print a brace, write it "
            "twice."
        )

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [key for key in [*range(len(args)), *kwargs] if key not in used_args]
        if unused:
            raise ValueError(
                f"debug_print: {self._template!r} has no place for argument {unused[0]!r}; needed a place for each, so "
                "that no argument is left out. Write {} or a name in braces, and no f before the string."
            )

    def format_field(self, value: Any, format_spec: str) -> str:
        del value, format_spec
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        del conversion
        return value


def _check(template: str, args: tuple, kwargs: dict) -> None:
    """Refuse a template or argument that could not be printed when the program runs."""
    check = _TemplateCheck(template)
    try:
        list(check.parse(template))
    except ValueError as error:
        raise ValueError(
            f"debug_print: {template!r} is not a template ({error}); needed a template of str.format. To print a "
            "brace, write it twice."
        ) from None
    try:
        check.vformat(template, args, kwargs)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(
            f"debug_print: {template!r} reads a part that its argument does not have ({error}); needed a part that "
            "exists before the program runs. Compute the part first, and print it."
        ) from None


@folded
def debug_print(template: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print values when the program runs, rather than when it is traced: ``print(template.format(...))``.

    Compiled functions print in each call, and loops in each step. Under `vmap` each element of the batch is printed
    separately. A derivative prints where the function does, in the forward pass, and a recomputed part (`checkpoint`)
    prints again. Prints happen even if no result needs the values.

    Args:
        template: as for ``str.format``; not an f-string, which would be formatted when the function is traced.
        *args: pytrees of arrays, or any other objects.
        ordered: whether XLA must keep the order of the prints, which makes its programs wait. Other engines always keep
            it.
        **kwargs: the same by name.

    Raises:
        TypeError: ``template`` is no string.
        ValueError: the template has a field without an argument, or an argument has no field.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.jit(engine="numpy")
        ... def f(x):
        ...     y = np.sin(x)
        ...     fg.debug_print("y = {y:.3f}, x = {}", x, y=y)
        ...     return x * 2
        >>> f(1.0)
        y = 0.841, x = 1.0
        np.float64(2.0)

    Source: ``jax.debug.print``.
    """
    if not isinstance(template, str):
        raise TypeError(
            f"debug_print: the template must be a string. Arrived a {type(template).__name__}. Write "
            "fg.debug_print('x = {}', x)."
        )
    _check(template, args, kwargs)
    effect(_Printed(template), f"print {template!r}", (args, kwargs), ordered)


class _Printed(NamedTuple):
    template: str

    def __call__(self, tree: PyTree) -> None:
        args, kwargs = tree
        sys.stdout.write(self.template.format(*args, **kwargs) + "\n")
        sys.stdout.flush()


@folded
def breakpoint(*, ordered: bool = False, **values: Any) -> None:  # noqa: A001  (Python's name for what it does)
    """Stop when the program runs, and inspect values in Python's debugger: ``breakpoint()`` for traced values.

    The debugger stops at the line of the call, in a frame whose local variables are the values, as NumPy arrays. It is
    the debugger of ``breakpoint()``: ``PYTHONBREAKPOINT`` selects another one, or none. Assignments there change
    nothing in the program. Compiled functions stop in each call, loops in each step, and `vmap` at each element.

    Args:
        ordered: whether XLA must keep the order of these calls and of prints. Other engines always keep it.
        **values: pytrees of arrays, by name; by default the local variables of the caller.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def f(x):
        ...     y = np.sin(x)
        ...     fg.breakpoint()
        ...     return y * x
        >>> gradient = fg.jit(fg.grad(f))  # gradient(1.0) stops, with x and y

    Source: ``jax.debug.breakpoint``.
    """
    frame = _user_frame()
    stop = _Stop(frame.f_code.co_name, Line(frame.f_code.co_filename, frame.f_lineno), frame.f_globals)
    effect(stop, f"breakpoint {stop.line}", values or dict(frame.f_locals), ordered)


def _user_frame() -> FrameType:
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame


class _Stop(NamedTuple):
    """A line of the user's code, where the debugger stops."""

    function: str
    line: Line
    globals: dict[str, Any]

    def __call__(self, values: dict[str, Any]) -> None:
        # The compiled code has the user's file and line, so the debugger shows the code around it.
        source = "\n" * (self.line.number - 1) + "__import__('sys').breakpointhook()"
        code = compile(source, self.line.path, "exec").replace(co_name=self.function, co_qualname=self.function)
        exec(code, {**self.globals}, values)
