"""In-place writes: each is noted, so that a pass refuses to read overwritten values.

The tape keeps values and no copies of them. A write through a tensor or an optimizer therefore draws a serial number
from the counter of the nodes, and stores it with the array that owns the memory. A node with a greater number than the
last write was recorded after all writes, and one comparison shows this. For older nodes a pass checks the values that
they keep. A gradient that nobody has read (`gradient_of`) is in no graph, so writes to it need no note: a training loop
that calls ``zero_grad`` between forward and backward then checks no node. Other writes to the memory
(``tensor.numpy()[0] = 1``) go unnoticed, as in PyTorch.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from funcgrad._core.trace.tape import is_joint, kept_by, next_serial, parents_of
from funcgrad._types import Array
from funcgrad.autograd._tape.base import TensorBase, TensorNode
from funcgrad.autograd._tape.dtypes import tensor_type_name
from funcgrad.autograd._tape.function import Function

# The number of writes to an array whose serial numbers are kept. They serve only the error's text.
_REMEMBERED = 16


class _Record:
    """The noted writes to one array: their count, the last serial numbers, and the last operation."""

    __slots__ = ("array", "count", "serials", "title")

    def __init__(self, array: Array, forget: Callable[[Any], Any]) -> None:
        self.array = weakref.ref(array, forget)
        self.count = 0
        self.title: str | None = None
        self.serials: deque[int] = deque(maxlen=_REMEMBERED)


class Writes:
    """The noted writes. A pass asks them before it reads kept values."""

    __slots__ = ("_records", "last")

    def __init__(self) -> None:
        # The serial number of the last write.
        self.last = 0
        # The records, by the id of the array that owns the memory.
        self._records: dict[int, _Record] = {}

    def __len__(self) -> int:
        """Return the number of existing arrays that were written to."""
        return len(self._records)

    def note(self, tensors: Iterable[TensorBase]) -> None:
        """Note that values are written to, or, for JAX values, that their memory is donated."""
        self.last = serial = next_serial()
        records = self._records
        for tensor in tensors:
            value = tensor._value
            # A view has no record of its own, so this finds the record of an array that owns its memory.
            record = records.get(id(value))
            if record is None:
                record = self._record(owner_of(value))
            record.count += 1
            record.serials.append(serial)

    def _record(self, array: Array) -> _Record:
        record = self._records.get(id(array))
        if record is None:
            # When an array is freed, its record is dropped, before another array can get its id.
            record = self._records[id(array)] = _Record(array, partial(self._records.pop, id(array)))
        return record

    def version(self, value: Array) -> int:
        """Return how many writes to the memory of a value there were."""
        record = self._records.get(id(owner_of(value)))
        return 0 if record is None else record.count

    def entitle(self, value: Array, title: str) -> None:
        """Keep PyTorch's name for the last operation that wrote to the memory of a value, for errors."""
        if (record := self._records.get(id(owner_of(value)))) is not None:
            record.title = title

    def latest(self, value: Array) -> int:
        """Return the serial number of the last noted write to the memory of a value; 0 if there was none."""
        record = self._records.get(id(owner_of(value)))
        return record.serials[-1] if record is not None and record.serials else 0

    def check(self, node: Any) -> None:
        """Refuse a node that keeps a value written to after the node was recorded, in PyTorch's words."""
        # A joint operation keeps its operands too, in case that it is recorded again.
        kept = kept_by(node)[:2] if is_joint(node) else kept_by(node)
        for value in arrays_in(kept):
            record = self._records.get(id(owner_of(value)))
            if record is not None and record.serials and record.serials[-1] > node[0]:
                name, origin = tensor_type_name(value.dtype), _origin(node, value, record)
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[{name} {list(value.shape)}]{origin} is at version {record.count}; expected "
                    f"{_expected(record, node[0])} instead. Hint: compute a new value (x = x + y), write to a copy "
                    "(x.clone()), or write after the last backward."
                )


def gradient_of(tensor: TensorBase) -> Any:
    """Return the gradient of a tensor for code that puts it into no graph, such as an optimizer's step.

    ``tensor.grad`` marks the gradient as read, and writes to it are noted from then on.
    """
    return getattr(tensor, "_gradient", None)


def was_read(gradient: TensorBase) -> bool:
    """Return whether a gradient may be in a graph, because ``tensor.grad`` has returned it or has been set to it."""
    return getattr(gradient, "_read", False)


def owner_of(array: Array) -> Any:
    """Return the array that owns the memory of a view; a JAX array owns its own."""
    if isinstance(array, np.ndarray):
        while isinstance(array.base, np.ndarray):
            array = array.base
    return array


def arrays_in(kept: Any) -> Iterator[Any]:
    """Yield the arrays, and other objects, among kept values, which may be nested."""
    if isinstance(kept, tuple | list):
        for one in kept:
            yield from arrays_in(one)
    else:
        yield kept


def _origin(node: Any, value: np.ndarray, record: _Record) -> str:
    """Return the operation that made the value, if it is no leaf; for an operand, the last one that wrote to it.

    An operand that shared the memory of the result was lost when the operation wrote to it.
    """
    for source in (node, *parents_of(node)):
        if type(source) is TensorNode and getattr(source, "value_id", 0) == id(value):
            name = Function(source).name()
            if (source is not node or getattr(node, "lost", False)) and record.title is not None:
                # The name stays if a tensor with its own history wrote to the memory.
                name = getattr(source, "last_title", [name])[0] if record.array() is value else "AsStrided"
            return f", which is output 0 of {name.replace('Backward0', '').replace('Backward', '')},"
    return ""


def _expected(record: _Record, serial: int) -> str:
    newer = sum(written > serial for written in record.serials)
    return f"version {record.count - newer}" if newer < _REMEMBERED else "an earlier version"


WRITES = Writes()
