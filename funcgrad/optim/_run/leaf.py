"""The step of one leaf: which form of the rule it takes, and in which dtype."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._ops.cast import cast
from funcgrad._ops.rows import Rows
from funcgrad.errors import TreeMismatchError
from funcgrad.optim._rules.sgd import Hyper, step
from funcgrad.optim._run.blocks import Known, Move, write_steps
from funcgrad.optim._run.rows import check_rows, nan_if_decayed, step_rows
from funcgrad.tree import TreeDef, key_paths

_FLOAT32 = np.dtype(np.float32)
_BUFFERS = frozenset({np.ndarray, type(None)})
_KEEPS = frozenset({float, type(None)})


class Leaf(NamedTuple):
    """One parameter and all that its step reads."""

    p: Any
    g: Any
    # ``None`` where momentum is 0.
    buffer: Any
    # A copy of ``p`` in a wider dtype, which is stepped in its place; or ``None``.
    master: Any
    # What the gradient is multiplied by when it enters the buffer; ``None`` at the first step.
    keep: Any
    hyper: Hyper


class Stepper:
    """Steps of one update, with the hyperparameters in the dtype of each leaf."""

    def __init__(self, treedef: TreeDef) -> None:
        self._treedef = treedef
        self._in_dtype: dict[Any, Hyper] = {}

    def step(self, i: int, leaf: Leaf) -> tuple[Any, Any, Any]:
        """The new parameter, buffer and master copy of leaf ``i``."""
        p, g, buffer, master, keep, hyper = leaf
        if g is None:
            return p, _own(buffer), _own(master)
        if type(g) is Rows:
            self._check_rows(i, g, p, hyper)
            g = nan_if_decayed(g, hyper)
            if buffer is None and master is None and p.dtype.kind != "V" and p.dtype.itemsize > 2:
                return step_rows(p, g, self._dtyped(hyper, p)), None, None
            g = g.todense()
        g = self.conformed(i, g, p)
        if master is not None:
            new, buffer = self.step_flat(master, cast(g, master.dtype), buffer, keep, hyper)
            return cast(new, p.dtype), buffer, new
        return *self.step_flat(p, g, buffer, keep, hyper), None

    def step_flat(self, p: Any, g: Any, buffer: Any, keep: Any, hyper: Hyper) -> tuple[Any, Any]:
        """The new parameter and buffer from arrays of one dtype; half precision is computed with in float32."""
        dtype = getattr(p, "dtype", None)
        if dtype is not None and (dtype.kind == "V" or dtype.itemsize == 2):
            buffer = None if buffer is None else cast(buffer, _FLOAT32)
            p, buffer = self._step(cast(p, _FLOAT32), cast(g, _FLOAT32), buffer, keep, hyper)
            return cast(p, dtype), None if buffer is None else cast(buffer, dtype)
        return self._step(p, g, buffer, keep, hyper)

    def _step(self, p: Any, g: Any, buffer: Any, keep: Any, hyper: Hyper) -> tuple[Any, Any]:
        # 0-d arrays become NumPy scalars, which cannot be written to.
        bare = type(p) is type(g) is np.ndarray and p.shape and type(buffer) in _BUFFERS and type(keep) in _KEEPS
        if bare and hyper.known:
            return step_numpy(p, g, buffer, keep, hyper)
        if keep is not None and type(keep) is not float:
            keep = cast(keep, aval_of(p).dtype)
        return step(p, g, buffer, keep, self._dtyped(hyper, p))

    def _dtyped(self, hyper: Hyper, p: Any) -> Hyper:
        dtype = aval_of(p).dtype
        key = id(hyper), dtype
        if key not in self._in_dtype:
            self._in_dtype[key] = hyper if hyper.known else hyper.in_dtype(dtype)
        return self._in_dtype[key]

    def conformed(self, i: int, g: Any, p: Any) -> Any:
        """A gradient in the dtype of its parameter; what does not fit is refused."""
        try:
            if g.shape == p.shape and g.dtype == p.dtype:
                return g
        except AttributeError:
            # A Python number, or no value at all.
            pass
        if not is_value(g):
            self._refuse(i, f"a {type(g).__name__}", p)
        g_aval, p_aval = aval_of(g), aval_of(p)
        kind_fits = g_aval.dtype.kind not in "biu" and (g_aval.dtype.kind != "c" or p_aval.dtype.kind == "c")
        if g_aval.shape != p_aval.shape or not (kind_fits or g_aval.weak):
            self._refuse(i, str(g_aval), p)
        return g if g_aval.weak else cast(g, p_aval.dtype)

    def _check_rows(self, i: int, g: Rows, p: Any, hyper: Hyper) -> None:
        fault = check_rows(g, p, hyper)
        if fault:
            raise fault[0](f"sgd_update: the gradient of params{key_paths(self._treedef)[i]} {fault[1]}")

    def _refuse(self, i: int, arrived: str, p: Any) -> NoReturn:
        raise TreeMismatchError(
            f"sgd_update: the gradient of params{key_paths(self._treedef)[i]} is {arrived}; needed {aval_of(p)}, the "
            "type of the parameter, or None. Pass what fg.grad returned for these parameters."
        )


def _own(x: Any) -> Any:
    """What stays as it is; NumPy arrays in memory of their own."""
    return x.copy() if type(x) is np.ndarray else x


def step_numpy(
    p: np.ndarray, g: np.ndarray, buffer: np.ndarray | None, keep: float | None, hyper: Hyper
) -> tuple[np.ndarray, np.ndarray | None]:
    """``step`` on NumPy arrays with known hyperparameters."""
    new_p = np.empty_like(p)
    new_buffer = None if buffer is None else np.empty_like(buffer)
    write_steps([Move(p, g, buffer, keep, new_p, new_buffer)], Known(*hyper))
    return new_p, new_buffer
