"""The step of one leaf. This module chooses the form of the rule's program and the dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of, is_integral
from funcgrad._core.bind import NUMPY_TYPES, is_value
from funcgrad._engines.source.extend import Work, write
from funcgrad._ops.elementwise.cast import cast, imag_p, make_complex, real_p
from funcgrad._ops.index.rows import Rows
from funcgrad._ops.layout.copy import fresh
from funcgrad._types import Array
from funcgrad.errors import SparseGradientError, TreeMismatchError
from funcgrad.optim._rules.rule import HyperparameterRow, Rule
from funcgrad.optim._run.program import Program, program_of
from funcgrad.optim._run.rows import check_rows, coalesced, rows_at, step_rows, with_rows

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_ARRAYS = frozenset({np.ndarray})
# A compiled step of this many elements or more is limited by memory.
_SEPARATED = 1 << 16


class Leaf(NamedTuple):
    """One parameter, and all values that its step reads."""

    p: Any
    g: Any
    # The slots of the parameter.
    slots: tuple[Any, ...]
    # A copy of ``p`` in a wider dtype, which the step updates instead; or ``None``.
    master: Any
    # The number of steps taken; ``None`` if the rule does not read it.
    taken: Any
    row: HyperparameterRow
    # NumPy arrays to write the new parameter and slots to, possibly the old ones; ``None`` makes new arrays.
    into: tuple[Any, ...] | None = None


class StepResult(NamedTuple):
    """The result of a step for a leaf."""

    p: Any
    slots: tuple[Any, ...]
    master: Any = None


class Stepper:
    """The steps of one update. Steps that NumPy computes are collected, and `finish` runs all of them together."""

    def __init__(self, rule: Rule, path: Callable[[int], str]) -> None:
        self.rule = rule
        self._path = path
        self.works: list[Work] = []
        # Values that are computed from hyperparameters and a count of steps.
        self._scalars: dict[Any, Any] = {}
        # The programs for known numbers at a step, with the values that they compute from the numbers.
        self._now: dict[Any, Any] = {}

    def step(self, i: int, leaf: Leaf) -> StepResult:
        """Return the new parameter, slots and master copy of leaf ``i``."""
        p, g, slots, master, taken, row, into = leaf
        if master is None:
            places = self.gathered(p, g, slots, taken, row, into)
            if places is not None:
                return StepResult(places[0], places[1:])
        if g is None:
            return StepResult(p, *_kept(slots, master, into))
        if type(g) is Rows:
            self._check_rows(i, g, p, row)
            if self._takes_rows(p, master, row):
                program = program_of(row.structure, p.dtype, False, p.shape)
                return StepResult(step_rows(program, p, g, self._numbers(program, row, taken, p.dtype)), ())
            if self.rule.masked:
                whole, slots = self._step_masked(leaf if master is None else leaf._replace(p=master))
                return StepResult(whole, slots) if master is None else StepResult(cast(whole, p.dtype), slots, whole)
            g = g.todense()
        elif self.rule.dense is not None:
            raise SparseGradientError(
                f"{self.rule.name}_update: the gradient of params{self._path(i)} is dense: {self.rule.dense}"
            )
        g = self.conformed(i, g, p)
        if master is not None:
            new, slots = self.step_flat(Leaf(master, cast(g, master.dtype), slots, None, taken, row))
            # The parameter is rounded from the master copy, so the master copy must be written first.
            self.finish()
            return StepResult(cast(new, p.dtype), _stored(slots, new), _stored((new,), new)[0])
        new, slots = self.step_flat(leaf if g is leaf.g else leaf._replace(g=g))
        return StepResult(new, _stored(slots, p))

    def gathered(
        self,
        p: Array,
        g: Array,
        slots: tuple[Any, ...],
        taken: Any,
        row: HyperparameterRow,
        into: tuple[Any, ...] | None,
    ) -> tuple[Any, ...] | None:
        """Return the arrays into which `finish` will write parameter and slots; ``None`` if the leaf needs another way.

        This is the way for NumPy arrays of one dtype whose program is known. It makes few checks, because it takes
        tens of thousands of small steps a second.
        """
        if type(p) is not np.ndarray or type(g) is not np.ndarray or p.dtype is not g.dtype or p.shape != g.shape:
            return None
        if p is g:
            return None
        ready = (row.begun if type(taken) is int and taken == 0 else row.ready).get(p.dtype)
        if ready is None and row.counting:
            ready = self._now.get((row, taken, p.dtype)) or self._at(row, taken, p.dtype)
        if ready is None or not _ARRAYS.issuperset(map(type, slots)):
            return None
        if into is None:
            if not p.shape:
                # 0-d arrays become NumPy scalars, which cannot be written to.
                return None
            into = (np.empty_like(p), *map(np.empty_like, slots))
        self.works.append((ready[0], (p, g, *slots), ready[1], into))
        return into

    def _at(self, row: HyperparameterRow, taken: Any, dtype: np.dtype) -> Any:
        """Return the program at a step, and the values that it computes from the numbers; ``None`` if it is new."""
        program = row.counting.get(dtype)
        if program is None or type(taken) is not int or (taken == 0 and self.rule.begins):
            return None
        found = self._now[row, taken, dtype] = program.flat, _computed(program, row, taken, (), dtype)[0]
        return found

    def _takes_rows(self, p: Array, master: Any, row: HyperparameterRow) -> bool:
        return row.structure.by_rows and master is None and p.dtype.kind != "V" and p.dtype.itemsize > 2

    def step_flat(self, leaf: Leaf) -> tuple[Any, tuple[Any, ...]]:
        """Return the new parameter and slots from arrays of one dtype. Half precision is computed in float32."""
        p, g, slots, _, taken, row, _ = leaf
        dtype = p.dtype if type(p) is np.ndarray else aval_of(p).dtype
        if dtype.itemsize == 2 or dtype.kind == "V":
            return self._step_half(leaf)
        if dtype.kind == "c" and self.rule.elementwise:
            return self._step_parts(leaf)
        first = self.rule.begins and type(taken) is int and taken == 0
        program = program_of(row.structure, dtype, first, getattr(p, "shape", ()))
        if True in row.structure.scalars:
            return self._step_mixed(program, leaf)
        # A Python number combined with a Python number stays a Python number (weakly typed).
        scalars = self._numbers(program, row, taken, None if type(p) is float else dtype)
        if row.known and self.rule.elementwise and type(p) is np.ndarray and self.rule.dense is None:
            if not program.reads_t:
                (row.begun if first else row.ready)[dtype] = program.flat, scalars
            elif type(taken) is int:
                row.counting[dtype] = program
                self._now[row, taken, dtype] = program.flat, scalars
        results = self._run(program, (p, g, *slots), scalars, leaf)
        return results[0], tuple(results[1:])

    def _step_half(self, leaf: Leaf) -> tuple[Any, tuple[Any, ...]]:
        p, g, slots, _, taken, row, into = leaf
        dtype = p.dtype
        wide = [cast(x, _FLOAT32) if _is_like(x, p) else x for x in slots]
        p, new = self.step_flat(Leaf(cast(p, _FLOAT32), cast(g, _FLOAT32), tuple(wide), None, taken, row))
        self.finish()
        triples = zip(new, wide, slots, strict=True)
        rounded = [cast(p, dtype), *[cast(x, dtype) if a is not b else x for x, a, b in triples]]
        if into is None:
            return rounded[0], tuple(rounded[1:])
        # Scalar slots have no memory to write to.
        places = iter(into[1:])
        placed = [into[0], *[None if scalar else next(places) for scalar in row.structure.scalars]]
        p, *rest = _written(rounded, placed)
        return p, tuple(rest)

    def _step_parts(self, leaf: Leaf) -> tuple[Any, tuple[Any, ...]]:
        """Step a complex parameter as two parameters, its real and its imaginary part, as PyTorch does."""
        p, g, slots, _, taken, row, into = leaf
        scalar = row.structure.scalars
        if (
            into is None
            and type(p) is np.ndarray
            and all(type(x) is np.ndarray or s for x, s in zip(slots, scalar, strict=True))
        ):
            into = (np.empty_like(p), *[np.empty_like(x) for x, s in zip(slots, scalar, strict=True) if not s])
        halves = []
        for part in (real_part, imaginary_part):
            of_slots = [x if s else part(x) for x, s in zip(slots, scalar, strict=True)]
            places = None if into is None else tuple([part(x) for x in into])
            halves.append(self.step_flat(Leaf(part(p), part(g), tuple(of_slots), None, taken, row, places)))
        (p, slots), (imaginary, others) = halves
        if into is not None:
            rest = iter(into[1:])
            return into[0], tuple([x if s else next(rest) for x, s in zip(slots, scalar, strict=True)])
        joined = [x if s else make_complex(x, y) for x, y, s in zip(slots, others, scalar, strict=True)]
        return make_complex(p, imaginary), tuple(joined)

    def _step_masked(self, leaf: Leaf) -> tuple[Any, tuple[Any, ...]]:
        """Step the rows of a parameter that its gradient has."""
        p, g, slots, _, taken, row, into = leaf
        # Rows with the same index are added in the dtype in which the step computes.
        dtype = _FLOAT32 if p.dtype.itemsize == 2 or p.dtype.kind == "V" else p.dtype
        indices, values = coalesced(Rows(g.indices, cast(g.values, dtype), g.shape), p)
        scalar = row.structure.scalars
        held = [x if s else rows_at(x, indices) for x, s in zip(slots, scalar, strict=True)]
        new, new_slots = self.step_flat(Leaf(rows_at(p, indices), values, tuple(held), None, taken, row))
        self.finish()
        whole = with_rows(p, indices, new, None if into is None else into[0])
        rest = iter([None] * len(slots) if into is None else into[1:])
        pairs = zip(slots, new_slots, scalar, strict=True)
        return whole, tuple([y if s else with_rows(x, indices, y, next(rest)) for x, y, s in pairs])

    def _step_mixed(self, program: Program, leaf: Leaf) -> tuple[Any, tuple[Any, ...]]:
        """Step a parameter by a rule of which some slots are numbers."""
        p, g, slots, _, taken, row, _ = leaf
        kinds = row.structure.scalars
        numbers = [x.item() if type(x) is np.ndarray else x for x, scalar in zip(slots, kinds, strict=True) if scalar]
        held = [x for x, scalar in zip(slots, kinds, strict=True) if not scalar]
        scalars, new = _computed(program, row, taken, numbers, None if type(p) is float else aval_of(p).dtype)
        p, *arrays = self._run(program, (p, g, *held), scalars, leaf)
        rest = iter(arrays), iter(new)
        return p, tuple([next(rest[scalar]) for scalar in kinds])

    def _run(self, program: Program, arrays: tuple[Any, ...], scalars: Any, leaf: Leaf) -> Sequence[Any]:
        """Return the new parameter and array slots. Steps of NumPy's arrays are collected; others run now."""
        p, taken, row, into = leaf.p, leaf.taken, leaf.row, leaf.into
        known = row.known and (taken is None or type(taken) is int)
        # 0-d arrays become NumPy scalars, which cannot be written to.
        flat = program.flat
        if flat and known and _ARRAYS.issuperset(map(type, arrays)) and (p.shape or into is not None):
            if into is None:
                into = (np.empty_like(p), *[np.empty_like(x) for x in arrays[2:]])
            elif arrays[1] is p:
                # A step may write to the parameter before it reads the gradient for the last time.
                arrays = (p, p.copy(), *arrays[2:])
            self.works.append((flat, arrays, scalars, into))
            return into
        separated = not row.known and program.rule.elementwise and aval_of(p).size >= _SEPARATED
        # The first buffer must not be the gradient itself, because later steps write to it.
        results = [fresh(y, arrays[1]) for y in program.run(arrays, scalars, separated)]
        return results if into is None else _written(results, into)

    def _numbers(self, program: Program, row: HyperparameterRow, taken: Any, dtype: np.dtype | None) -> Sequence[Any]:
        """Return the numbers that arrays are combined with, in the arrays' dtype."""
        key = program, row, dtype, taken if type(taken) is int else id(taken)
        found = self._scalars.get(key)
        if found is None:
            # Keep the count as well: then no other object can get its id as long as this entry exists.
            found = self._scalars[key] = _computed(program, row, taken, (), dtype)[0], taken
        return found[0]

    def forget(self) -> None:
        """Forget the collected steps."""
        self.works.clear()

    def finish(self) -> None:
        """Run the collected steps."""
        if self.works:
            works, self.works = self.works, []
            write(works)

    def conformed(self, i: int, g: Array, p: Array) -> Array:
        """Return a gradient in the dtype of its parameter, or refuse it."""
        try:
            if g.shape == p.shape and g.dtype == p.dtype and (type(g) is np.ndarray or is_value(g)):
                return g
        except AttributeError:
            # A Python number, or an object without a dtype.
            pass
        if not is_value(g):
            self._refuse(i, f"a {type(g).__name__}", p)
        g_aval, p_aval = aval_of(g), aval_of(p)
        kind_fits = not is_integral(g_aval.dtype) and (g_aval.dtype.kind != "c" or p_aval.dtype.kind == "c")
        if g_aval.shape != p_aval.shape or not (kind_fits or g_aval.weak):
            self._refuse(i, str(g_aval), p)
        return g if g_aval.weak else cast(g, p_aval.dtype)

    def _check_rows(self, i: int, g: Rows, p: Array, row: HyperparameterRow) -> None:
        fault = check_rows(row.structure, g, p)
        if fault:
            raise fault[0](f"{self.rule.name}_update: the gradient of params{self._path(i)} {fault[1]}")

    def _refuse(self, i: int, arrived: str, p: Array) -> NoReturn:
        raise TreeMismatchError(
            f"{self.rule.name}_update: the gradient of params{self._path(i)} is {arrived}; needed {aval_of(p)}, the "
            "type of the parameter, or None. Pass what fg.grad returned for these parameters."
        )


def real_part(x: Array) -> Array:
    """Return the real part. The real part of a NumPy array shares its memory."""
    return np.real(x) if type(x) is np.ndarray else real_p(x) if aval_of(x).dtype.kind == "c" else x


def imaginary_part(x: Array) -> Array:
    """Return the imaginary part. The imaginary part of a NumPy array shares its memory."""
    if aval_of(x).dtype.kind != "c":
        return 0 * x
    return np.imag(x) if type(x) is np.ndarray else imag_p(x)


def _is_like(x: Array, p: Array) -> bool:
    return aval_of(x).shape == aval_of(p).shape and aval_of(x).dtype == p.dtype


def _kept(slots: tuple[Any, ...], master: Any, into: tuple[Any, ...] | None) -> tuple[tuple[Any, ...], Any]:
    """Return the values that do not change; NumPy arrays are copied into memory of their own."""
    if into is not None:
        return slots, master
    return tuple([own(x) for x in slots]), own(master)


def _stored(values: tuple[Any, ...], p: Array) -> tuple[Any, ...]:
    """Return the state of a parameter of shape [] as arrays: orbax does not restore NumPy's scalars."""
    if getattr(p, "shape", None) != ():
        return values
    return tuple([np.array(x) if issubclass(type(x), np.generic) else x for x in values])


def own(x: Array) -> Array:
    return x.copy() if type(x) is np.ndarray else x


def _written(values: Sequence[Any], into: Sequence[Any]) -> list[Any]:
    """Return the values, copied into the given arrays if these are NumPy's."""
    written = []
    for value, place in zip(values, into, strict=True):
        if type(place) is np.ndarray:
            np.copyto(place, value)
            written.append(place)
        else:
            written.append(value)
    return written


def _computed(
    program: Program, row: HyperparameterRow, taken: Any, slots: Sequence[Any], dtype: np.dtype | None
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the numbers that arrays are combined with in the arrays' dtype, and the new scalar slots.

    With the dtype ``None`` Python's numbers stay.
    """
    t = None
    if program.reads_t:
        t = float(taken + 1) if type(taken) is int else cast(taken, _FLOAT64) + 1
    scalars, new = program.scalars(row.numbers, t, slots)
    if dtype is None:
        return scalars, new
    if row.known and (taken is None or type(taken) is int) and NUMPY_TYPES.issuperset(map(type, scalars)):
        return tuple([np.array(x, kind) for x, kind in zip(scalars, program.kinds, strict=True)]), new
    pairs = zip(scalars, program.kinds, strict=True)
    return tuple([x if type(x) is float else cast(x, kind) for x, kind in pairs]), new
