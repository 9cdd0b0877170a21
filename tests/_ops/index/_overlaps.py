"""Arrays, and writes to them whose values read them: what a compiler that writes in place must not confuse."""

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg

SIZE = 6
BACKWARDS = np.array([5, 4, 3, 2, 1, 0])
ODD = np.array([1, 3, 5])
UPPER = np.triu(np.ones((SIZE, SIZE), np.int8))

# An array of SIZE elements, or of rows and columns, which the program has made and may write to.
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "copy": lambda x: x.copy(),
    "product": lambda x: x * 2,
    "chosen": lambda x: np.where(x > 2, x, -x),
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "running maximum": np.maximum.accumulate,
    "cumsum of columns": lambda x: np.cumsum(x[:, None] + x, axis=0),
    "cumsum of rows": lambda x: np.cumsum(x[:, None] + x, axis=1),
    "index array": lambda x: x[BACKWARDS],
    "index array of rows": lambda x: (x[:, None] * x)[BACKWARDS],
    "index array of columns": lambda x: (x[:, None] * x)[:, BACKWARDS],
    "take along axis": lambda x: np.take_along_axis(x, BACKWARDS, 0),
    "reversed": lambda x: np.flip(x).copy(),
    "rolled": lambda x: np.roll(x, 2),
    "sorted": np.sort,
    "concatenated": lambda x: np.concatenate([x[3:], x[:3]]),
    "stacked": lambda x: np.stack([x, x * 2, x * 3]),
    "padded": lambda x: np.pad(x[:4], 1, mode="edge"),
    "repeated": lambda x: np.repeat(x[:3], 2),
    "tiled": lambda x: np.tile(x[:3], 2),
    "diff": lambda x: np.diff(x, append=x[:1]),
    "outer": lambda x: np.outer(x, x),
    "column": lambda x: (x * 2)[:, None],
    "row": lambda x: (x * 2)[None],
    "column of a column": lambda x: (x * 2)[:, None, None],
    "from a column": lambda x: (x[:, None] * 2).ravel(),
    "from columns": lambda x: (x[:, None] * x).T.copy(),
    "folded": lambda x: (x * 2).reshape(2, 3),
    "broadcast": lambda x: np.broadcast_to(x, (3, SIZE)).copy(),
    "product of a matrix": lambda x: UPPER.astype(x.dtype) @ x,
    "convolved": lambda x: np.convolve(x, np.array([1, 2, 1], x.dtype), "same"),
    "diagonal": lambda x: np.diagonal(x[:, None] * x).copy(),
    "sum of columns": lambda x: (x[:, None] * x).sum(1),
    "written": lambda x: _written(x),
    "written to a constant": lambda x: _written_to_constant(x),
    "carried": lambda x: fg.fori_loop(0, 3, lambda i, y: y * 2 - 1, x),
}


def _written(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:] = x[:-1] * 3
    return y


def _written_to_constant(x: Any) -> Any:
    y = x * 0 + np.arange(SIZE, dtype=np.int8)
    y[:2] = y[1:3]
    y[1:] = x[:-1] * 3
    return y


def _exchange(y: Any) -> None:
    y[0], y[1] = y[1], y[0].copy()


def _exchange_halves(y: Any) -> None:
    half = len(y) // 2
    y[:half], y[-half:] = y[-half:], y[:half].copy()


def _put(y: Any, key: Any, value: Any) -> None:
    y[key] = value


# Writes along the first axis.
WRITES: dict[str, Callable[[Any], None]] = {
    "y[1:] = y[:-1]": lambda y: _put(y, slice(1, None), y[:-1]),
    "y[1:] = y[:-1]; y[0] = 0": lambda y: (_put(y, slice(1, None), y[:-1]), _put(y, 0, 0))[0],
    "y[:-1] = y[1:]": lambda y: _put(y, slice(None, -1), y[1:]),
    "y[1:] = y[:-1] * 2": lambda y: _put(y, slice(1, None), y[:-1] * 2),
    "y[1:] += y[:-1]": lambda y: _put(y, slice(1, None), y[1:] + y[:-1]),
    "y[1:-1] = y[2:] + y[:-2]": lambda y: _put(y, slice(1, -1), y[2:] + y[:-2]),
    "y[1:] = y[0] + y[1:]": lambda y: _put(y, slice(1, None), y[0] + y[1:]),
    "y[1:] = y[..., None][:-1]": lambda y: _put(y, slice(1, None), y[..., None][:-1].reshape(y[1:].shape) * 2),
    "y[1:] = y[None][:, :-1]": lambda y: _put(y, slice(1, None), y[None][:, :-1][0]),
    "y[1:] = y.reshape[:-1]": lambda y: _put(y, slice(1, None), y.reshape(len(y), -1)[:-1].reshape(y[1:].shape)),
    "y[1:] = y[::-1][:-1]": lambda y: _put(y, slice(1, None), y[::-1][:-1]),
    "y[1:] = cumsum(y[:-1])": lambda y: _put(y, slice(1, None), np.cumsum(y[:-1], axis=0)),
    "y[::-1] = y": lambda y: _put(y, slice(None, None, -1), y * 1),
    "y[1::2] = y[::2][: ...]": lambda y: _put(y, slice(1, None, 2), y[: len(y) // 2]),
    "y[[...]] = y[...]": lambda y: _put(y, BACKWARDS[-len(y) :], y[: len(BACKWARDS)] + 1),
    "y[0], y[1] = y[1], y[0]": _exchange,
    "exchange of halves": _exchange_halves,
}
# What a program does with the array then.
READS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda y: y,
    "y[:, None]": lambda y: y[:, None],
    "y[None] * 2": lambda y: y[None] * 2,
}


def program(array: str, write: str, read: str = "as it is") -> Callable[[Any], Any]:
    """Return a function that makes an array, writes to it, and reads it."""

    def run(x: Any) -> Any:
        y = ARRAYS[array](x)
        if len(y) > 1:
            WRITES[write](y)
        return READS[read](y)

    return run


def rounds(array: str, write: str, count: int) -> Callable[[Any], Any]:
    """Return a function that makes the array once, and copies and writes to it in each round of a loop."""

    def once(i: int, y: Any) -> Any:
        y = y.copy()
        if len(y) > 1:
            WRITES[write](y)
        return y

    return lambda x: fg.fori_loop(0, count, once, ARRAYS[array](x))
