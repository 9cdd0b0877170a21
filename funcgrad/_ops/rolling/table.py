"""The table of a program: arrays of numbers, so that a pass over thousands of rounds is a few calls of NumPy.

Result ``k`` of equation ``i`` has the number ``i * width + k``. Inputs, constants and literals have the numbers after
these. Primitives, types, parameters and parts of arrays have numbers, too. Two equations are of one *kind* if they have
equal primitives, parameters and types; ``kinds`` gives each kind a number.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from copy import copy
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._core.graph.key import params_key
from funcgrad._core.graph.same import same_value
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.rolling.numbering import (
    OUTSIDE,
    IndexReads,
    PartNumbers,
    distinct_objects,
    first_places,
    number_pairs,
    numbers_of,
)
from funcgrad._ops.rolling.patterns import Key, Pattern, lows_of, pattern_of, window_of

# The types of more operands than this are compared as one text of bytes.
_MANY = 8
# Slices of one array are moving windows if they have one length and at least this many positions. Fewer are the
# neighbours of a stencil, such as ``x[:-2]``, ``x[1:-1]`` and ``x[2:]``.
_LEAST_WINDOWS = 8
# Parameters that cannot be hashed are compared with so many that came before, of the same primitive.
_MOST_COMPARED = 8
# Stands for a part that was not asked for yet.
_UNKNOWN = -2


class Added(NamedTuple):
    """An equation that is added to a program. It has one result.

    Args:
        place: the equation before which it stands.
        equation: the equation.
        operands: the numbers of its operands.
        result: the number of its result. A new value has the number after those of the table, one for each place in the
            list of what is added.
    """

    place: int
    equation: Equation
    operands: np.ndarray
    result: int


class Table:
    """The operands, primitives and types of a program, as numbers.

    Args:
        equations: the equations of the program.
        outputs: its outputs.
    """

    def __init__(self, equations: Sequence[Equation], outputs: Sequence[Operand]) -> None:
        self.equations = equations
        self.primitives, self.primitive = distinct_objects([each.primitive for each in equations])
        operands = [each.operands for each in equations]
        results = [each.results for each in equations]
        # The operands of equation i are those from starts[i] on.
        lengths = np.fromiter(map(len, operands), np.int64, len(operands))
        self.starts = np.concatenate(([0], np.cumsum(lengths)))
        made = list(chain.from_iterable(results))
        if any(each.multiple_results for each in self.primitives):
            lengths = np.array([*map(len, results)])
            self.width = int(lengths.max())
            first = np.repeat(np.arange(len(results)) * self.width - np.cumsum(lengths) + lengths, lengths)
            numbers = first + np.arange(len(made))
        else:
            self.width, numbers = 1, np.arange(len(made))
        self.size = len(results) * self.width
        # Two variables are the same only if they are one object.
        ids = np.fromiter(
            map(id, chain.from_iterable((*operands, outputs))), np.int64, int(self.starts[-1]) + len(outputs)
        )
        read = numbers_of(np.fromiter(map(id, made), np.int64, len(made)), numbers, ids)
        outside = np.flatnonzero(read < 0)
        first, places = first_places(ids[outside])
        read[outside] = places + self.size
        self.operands, self.outputs = read[: len(ids) - len(outputs)], read[len(ids) - len(outputs) :]
        # Inputs, constants and literals, in the order in which they are first read.
        positions = outside[first]
        readers = np.searchsorted(self.starts, positions, "right") - 1
        self.outside: list[Operand] = [
            operands[i][k - self.starts[i]] if i < len(operands) else outputs[k - self.starts[-1]]
            for i, k in zip(readers.tolist(), positions.tolist(), strict=True)
        ]
        avals, found = distinct_objects([x.aval for x in made])
        self._avals: dict[Any, int] = {}
        # The type of each value, as a number.
        self.types = np.full(self.size + len(self.outside), -1)
        self.types[numbers] = np.array([self._avals.setdefault(x, len(self._avals)) for x in avals], np.int64)[found]
        self.types[self.size :] = [self._type_of(x) for x in self.outside]
        self.parts = PartNumbers()
        # The part at integers that each equation reads or writes, as far as it was asked for.
        self.part_numbers = np.full(len(equations), _UNKNOWN)
        # For each primitive, the last parameters that cannot be hashed, with a key.
        self._last: dict[Primitive, list[tuple[dict[str, Any], object]]] = {}

    def _type_of(self, x: Operand) -> int:
        number = self._avals.setdefault(x.aval, len(self._avals))
        # Python's numbers have a type of their own: only NumPy's may become the first value of a carry.
        if type(x) is Literal and x.aval.weak:
            return self._avals.setdefault((type(x.value), number), len(self._avals))
        return number

    def kept(self, mask: np.ndarray) -> Table:
        """Return the table of the equations of a mask. They must read no result of the others."""
        found = copy(self)
        for name in ("effects", "reads"):
            vars(found).pop(name, None)
        found.equations = [*compress(self.equations, mask.tolist())]
        found.primitive, found.part_numbers = self.primitive[mask], self.part_numbers[mask]
        lengths = np.diff(self.starts)
        found.starts = np.concatenate(([0], np.cumsum(lengths[mask])))
        found.size = len(found.equations) * self.width
        values = np.concatenate((np.repeat(mask, self.width), np.ones(len(self.outside), bool)))
        numbers = np.cumsum(values) - 1
        found.operands, found.outputs = numbers[self.operands[np.repeat(mask, lengths)]], numbers[self.outputs]
        found.types = self.types[values]
        return found

    def edited(self, kept: np.ndarray, operands: np.ndarray, outputs: np.ndarray, added: Sequence[Added]) -> Table:
        """Return the table of a program that reads other values.

        Args:
            kept: a mask of the equations that stay.
            operands: the numbers of the operands, of the equations that do not stay too.
            outputs: the numbers of the outputs.
            added: new equations.
        """
        found, width = copy(self), self.width
        vars(found).pop("effects", None)
        stay, places = np.flatnonzero(kept), np.array([each.place for each in added], np.int64)
        # New equations stand before those at their places.
        order = np.argsort(np.concatenate((2 * stay + 1, 2 * places)), kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        stays, comes = position[: len(stay)], position[len(stay) :]
        primitives = {each: k for k, each in enumerate(self.primitives)}
        new = [primitives.setdefault(each.equation.primitive, len(primitives)) for each in added]
        found.primitives = [*primitives]
        found.primitive = np.concatenate((self.primitive[stay], np.array(new, np.int64)))[order]
        # The number of each value in the new table.
        numbers = np.full(len(self.types) + len(added), OUTSIDE)
        results, moved = [(each[:, None] * width + np.arange(width)).reshape(-1) for each in (stay, stays)]
        numbers[results] = moved
        found.size = len(order) * width
        numbers[self.size : len(self.types)] = found.size + np.arange(len(self.outside))
        numbers[[each.result for each in added]] = comes * width
        found.types = np.concatenate((np.full(found.size, -1), self.types[self.size :]))
        found.types[moved] = self.types[results]
        found.types[comes * width] = [self._type_of(each.equation.results[0]) for each in added]
        found.starts, flat = self._arranged(kept, operands, added, order)
        found.operands, found.outputs = numbers[flat], numbers[outputs]
        found.equations = _with_operands(self, kept, operands)
        for k in np.argsort(places, kind="stable")[::-1].tolist():
            found.equations.insert(int(np.searchsorted(stay, places[k])), added[k].equation)
        now = np.full(len(self.equations), OUTSIDE)
        now[stay] = stays
        found.part_numbers = np.full(len(order), _UNKNOWN)
        found.part_numbers[stays] = self.part_numbers[stay]
        equations, _, parts = [each[kept[self.reads.equations]] for each in self.reads]
        found.reads = IndexReads(now[equations], numbers[operands[self.starts[equations]]], parts)
        return found

    def _arranged(
        self, kept: np.ndarray, operands: np.ndarray, added: Sequence[Added], order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return where the operands of each equation start, and the operands, of what stays and of new equations."""
        lengths = np.diff(self.starts)
        sizes = np.concatenate((lengths[kept], [len(each.operands) for each in added])).astype(np.int64)
        before, sizes = (np.cumsum(sizes) - sizes)[order], sizes[order]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(before - starts[:-1], sizes) + np.arange(starts[-1])
        return starts, np.concatenate((operands[np.repeat(kept, lengths)], *[each.operands for each in added]))[places]

    def of(self, *primitives: Primitive) -> np.ndarray:
        """Return the equations of these primitives."""
        return np.flatnonzero(np.array([each in primitives for each in self.primitives])[self.primitive])

    def aval(self, number: int) -> Aval:
        """Return the type of a number."""
        found = [*self._avals][number]
        return self.aval(found[1]) if isinstance(found, tuple) else found

    def value(self, number: int) -> Operand:
        """Return the value of a number."""
        if number >= self.size:
            return self.outside[number - self.size]
        return self.equations[number // self.width].results[number % self.width]

    def is_weak(self, numbers: np.ndarray) -> np.ndarray:
        """Return whether values are Python's numbers."""
        weak = [isinstance(each, tuple) or each.weak for each in self._avals]
        return np.array(weak, bool)[self.types[numbers]]

    def is_variable(self, numbers: np.ndarray) -> np.ndarray:
        """Return whether values are variables."""
        outside = np.array([type(x) is Var for x in self.outside], bool)
        return np.append(outside, True)[np.where(numbers < self.size, -1, numbers - self.size)]

    def readers(self) -> np.ndarray:
        """Return the equation that each operand belongs to."""
        return np.repeat(np.arange(len(self.equations)), np.diff(self.starts))

    def uses(self) -> np.ndarray:
        """Return how often each value is read. An output is a read."""
        return np.bincount(np.concatenate((self.operands, self.outputs)), minlength=len(self.types))

    @functools.cached_property
    def effects(self) -> np.ndarray:
        """A mask of the equations that have effects."""
        found = np.zeros(len(self.equations), bool)
        plain = np.array([each is index_p or (each.elementwise and not each.effect) for each in self.primitives], bool)
        asked = np.flatnonzero(~plain[self.primitive])
        found[asked] = [self.equations[i].has_effect for i in asked.tolist()]
        return found

    def live(self) -> np.ndarray:
        """Return a mask of the equations that an output or an effect depends on."""
        made = self.operands < self.size
        readers = np.concatenate((self.operands[made], self.outputs[self.outputs < self.size])) // self.width
        uses = np.bincount(readers, minlength=len(self.equations)) + self.effects
        found = np.ones(len(self.equations), bool)
        dead = np.flatnonzero(uses == 0).tolist()
        while dead:
            i = dead.pop()
            found[i] = False
            for number in self.operands[self.starts[i] : self.starts[i + 1]].tolist():
                if number < self.size:
                    uses[number // self.width] -= 1
                    if not uses[number // self.width]:
                        dead.append(number // self.width)
        return found

    def active(self, inputs: Collection[Operand]) -> np.ndarray:
        """Return a mask of the values that have a derivative with respect to the inputs."""
        able = np.array([each.derivative is not CONSTANT for each in self.primitives], bool)
        types = [not isinstance(each, tuple) and is_inexact(each.dtype) for each in self._avals]
        found = np.array([*types, False], bool)[self.types]
        found[: self.size] &= np.repeat(able[self.primitive], self.width)
        found[self.size :] = [x in inputs for x in self.outside]
        readers = self.readers()
        counts = np.bincount(readers, weights=found[self.operands], minlength=len(self.equations))
        pending = np.flatnonzero(counts == 0).tolist()
        if not pending:
            return found
        # The equations that read each value, one value after the other.
        order = np.argsort(self.operands, kind="stable")
        starts = np.searchsorted(self.operands[order], np.arange(self.size + 1)).tolist()
        readers = readers[order].tolist()
        while pending:
            i = pending.pop()
            for number in range(i * self.width, (i + 1) * self.width):
                if found[number]:
                    found[number] = False
                    for j in readers[starts[number] : starts[number + 1]]:
                        counts[j] -= 1
                        if not counts[j]:
                            pending.append(j)
        return found

    @functools.cached_property
    def reads(self) -> IndexReads:
        """The reads by index, without those that have index arrays."""
        found = self.of(index_p)
        found = found[np.diff(self.starts)[found] == 1]
        return IndexReads(found, self.operands[self.starts[found]], self.parts_of(found))

    def windows(self) -> np.ndarray:
        """Return the number of the part for each of `reads`, where a moving window is a part too.

        A row that has moving windows itself must be read as an array, so its number is `OUTSIDE`.
        """
        reads, width = self.reads, self.width
        numbers = reads.numbers.copy()
        # `parts_of` gives each slice a pattern of its own. The same slice at another position needs an equal one.
        patterns, _ = self.parts.places()
        has_slice = np.array([any(type(each) is tuple for each in pattern) for pattern in self.parts.patterns], bool)
        others = np.flatnonzero(np.append(has_slice[patterns], True)[numbers])
        often = np.bincount(reads.bases[others], minlength=len(self.types)) >= _LEAST_WINDOWS
        found: dict[tuple[int, Pattern], dict[int, Key]] = {}
        for k in others[often[reads.bases[others]]].tolist():
            equation = self.equations[int(reads.equations[k])]
            window = window_of(equation.params["index"], equation.operands[0].aval.shape)
            if window is not None:
                found.setdefault((int(reads.bases[k]), window[0]), {})[k] = window[1]
        bases: list[int] = []
        for (base, pattern), keys in found.items():
            if len({lows_of(pattern, key) for key in keys.values()}) >= _LEAST_WINDOWS:
                numbers[[*keys]] = [self.parts.number((pattern, key)) for key in keys.values()]
                bases.append(base)
        numbers[np.isin(reads.equations * width, bases)] = OUTSIDE
        return numbers

    def parts_of(self, equations: np.ndarray) -> np.ndarray:
        """Return the number of the part at integers that each of some reads and writes has; else `OUTSIDE`."""
        new = equations[self.part_numbers[equations] == _UNKNOWN]
        entries = [self.equations[i].params["index"].entries for i in new.tolist()]
        # Most indices are one integer.
        only = [each[0] if len(each) == 1 else None for each in entries]
        is_row = np.array([type(each) is int for each in only], bool)
        rows, others = new[is_row], new[~is_row]
        shapes = [() if isinstance(each, tuple) else each.shape for each in self._avals]
        lengths = np.array([max(shape[0], 1) if shape else 1 for shape in shapes])
        keys = np.array([*compress(only, is_row.tolist())], np.int64)
        self.part_numbers[rows] = self.parts.rows(keys % lengths[self.types[self.operands[self.starts[rows]]]])
        for i in others.tolist():
            equation = self.equations[i]
            part = pattern_of(equation.params["index"], equation.operands[0].aval.shape)
            self.part_numbers[i] = OUTSIDE if part is None else self.parts.number(part)
        return self.part_numbers[equations]

    def kinds(self, kept: np.ndarray) -> np.ndarray:
        """Return a number for each kept equation, equal for equations of one kind: primitive, parameters, and types.

        Equations of one kind may be one equation in several rounds. It does not matter which values they read.

        Args:
            kept: a mask of equations.
        """
        found = number_pairs(self.primitive, self._params(kept))
        for k in range(self.width):
            found = number_pairs(found, self.types[k : self.size : self.width] + 1)
        lengths, read = np.diff(self.starts), self.types[self.operands]
        found = number_pairs(found, lengths)
        for k in range(min(int(lengths.max(initial=0)), _MANY)):
            has = lengths > k
            found = number_pairs(found, np.where(has, read[np.where(has, self.starts[:-1] + k, 0)] + 1, 0))
        many = np.flatnonzero(lengths > _MANY)
        if len(many):
            known: dict[bytes, int] = {}
            rest = np.zeros_like(found)
            types = [read[self.starts[i] : self.starts[i + 1]].tobytes() for i in many.tolist()]
            rest[many] = [known.setdefault(each, len(known) + 1) for each in types]
            found = number_pairs(found, rest)
        return found[kept]

    def _params(self, kept: np.ndarray) -> np.ndarray:
        """Return a number for each equation, equal for equal parameters. An equation with effects equals no other."""
        numbers: dict[Any, int] = {(): 0}
        found = np.zeros(len(self.equations), np.int64)
        equations, effects = self.equations, self.effects.tolist()
        asked = [i for i in np.flatnonzero(kept).tolist() if equations[i].params or effects[i]]
        found[asked] = [numbers.setdefault(self._key(self.equations[i]), len(numbers)) for i in asked]
        return found

    def _key(self, equation: Equation) -> Any:
        """Return a key of the parameters of an equation."""
        params = equation.params
        if len(params) == 1 and not equation.primitive.effect:
            (value,) = params.values()
            # An integer is its own key, which takes less time. True equals 1, so `params_key` makes another key for it.
            if type(value) is int:
                return value
        try:
            key = object() if equation.has_effect else params_key(params)
            hash(key)
        except TypeError:
            return self._key_of_last(equation)
        return key

    def _key_of_last(self, equation: Equation) -> Any:
        """Return a key of parameters that cannot be hashed, such as a user's rule: they may equal the last ones."""
        known = self._last.setdefault(equation.primitive, [])
        key = next((key for params, key in known if same_value(params, equation.params)), None)
        if key is None:
            key = object()
            self._last[equation.primitive] = [(equation.params, key), *known[: _MOST_COMPARED - 1]]
        return key


def _with_operands(table: Table, kept: np.ndarray, operands: np.ndarray) -> list[Equation]:
    """Return the equations that stay, with other operands."""
    equations = list(table.equations)
    changed = np.flatnonzero((operands != table.operands) & np.repeat(kept, np.diff(table.starts)))
    readers = np.searchsorted(table.starts, changed, "right") - 1
    columns = readers.tolist(), (changed - table.starts[readers]).tolist(), operands[changed].tolist()
    for i, k, number in zip(*columns, strict=True):
        primitive, (*now,), params = equations[i].primitive, equations[i].operands, equations[i].params
        now[k] = table.value(number)
        equations[i] = Equation(primitive, tuple(now), params, equations[i].results, equations[i].source)
    return [*compress(equations, kept.tolist())]
