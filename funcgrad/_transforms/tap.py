"""``tap`` and ``taps``: read values and cotangents inside a function from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from funcgrad._core.bind import is_value, onlookers
from funcgrad._core.words import shown
from funcgrad._engines import settle_effects
from funcgrad._ops.program.tap import VALUE, Seen, close, is_open, open_for, tap_p
from funcgrad._transforms.base.arguments import taken
from funcgrad._types import Value
from funcgrad.tree import flatten, key_paths, unflatten


def tap(name: str, x: Value) -> Any:
    """Mark a value and return it unchanged. `taps` reads the value and its cotangent.

    Without an open `taps` nothing happens: no operation is recorded or compiled.

    Args:
        name: the name of the mark. The leaves of a pytree are named by ``name`` and their paths: ``name['w']``.
        x: a pytree of arrays.

    Returns:
        ``x``.

    Raises:
        TypeError: ``name`` is no string.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def loss(x):
        ...     return np.sum(fg.tap("squares", x**2))
        >>> with fg.taps() as seen:
        ...     grads = fg.grad(loss)(np.array([1.0, 3.0]))
        >>> seen["squares"].value, seen["squares"].cotangent
        (array([1., 9.]), array([1., 1.]))
    """
    if not isinstance(name, str):
        raise TypeError(
            f"tap: the name must be a string. Arrived {shown(name)} of type {type(name).__name__}. Pass the "
            "name first and "
            "the value second: fg.tap('hidden', x)."
        )
    if not is_open():
        return x
    leaves, treedef = flatten(x)
    marked = [
        tap_p(taken(leaf), name=name + path, part=VALUE)[0] if is_value(leaf) else leaf
        for path, leaf in zip(key_paths(treedef), leaves, strict=True)
    ]
    return unflatten(treedef, marked)


class Taps(Mapping[str, Seen]):
    """The marked values by name: the last value and the last cotangent, as copied NumPy arrays."""

    def __init__(self) -> None:
        self.found: dict[str, Seen] = {}
        # Compiled functions that were called meanwhile, and their versions compiled with marks.
        self.compiled: dict[Any, Any] = {}

    def __getitem__(self, name: str) -> Seen:
        settle_effects()
        try:
            return self.found[name]
        except KeyError:
            raise KeyError(
                f"taps: no value with the name {name!r} was recorded; needed one of {sorted(self.found)}. Name a value "
                "in a function that is called inside the context: fg.tap(name, x)."
            ) from None

    def __iter__(self) -> Iterator[str]:
        settle_effects()
        return iter(dict(self.found))

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        return f"Taps({', '.join(self)})"


# The open contexts. The last one counts for compiled functions.
open_taps: list[Taps] = []


@contextlib.contextmanager
def taps() -> Iterator[Taps]:
    """Read the values that `tap` marks, inside the context and after it: ``seen[name]`` is ``(value, cotangent)``.

    If a function compiled by `funcgrad.jit`, or a loop, is called inside, it is compiled again with its marks. Of a
    loop, the values of the last round are read. Under `vmap` the values of the whole batch are read. A value that the
    results of a program do not need is not computed, so it cannot be read.

    Returns:
        A context manager. Its value is a mapping of each name to the ``(value, cotangent)`` that were seen last.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def loss(w, x):
        ...     hidden = fg.tap("hidden", np.tanh(x @ w))
        ...     return np.sum(hidden**2)
        >>> with fg.taps() as seen:
        ...     grads = fg.grad(loss)(np.zeros(2), np.eye(2))
        >>> seen["hidden"]
        Seen(value=array([0., 0.]), cotangent=array([0., 0.]))
    """
    seen = Taps()

    def look(_: object) -> None: ...

    try:
        # The setup is inside the try block, because Ctrl-C may come after each line.
        open_for(seen.found)
        open_taps.append(seen)
        onlookers.append(look)
        yield seen
    finally:
        settle_effects()
        onlookers[:] = [each for each in onlookers if each is not look]
        open_taps[:] = [each for each in open_taps if each is not seen]
        close(seen.found)
        seen.compiled.clear()
