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

from funcgrad._core.aval import is_inexact
from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._core.graph.key import params_key
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.rolling.rows import Key, Pattern, lows_of, pattern_of, window_of

# The types of more operands than this are compared as one text of bytes.
_MANY = 8
# Slices of one array are moving windows if they have one length and at least this many positions. Fewer are the
# neighbours of a stencil, such as ``x[:-2]``, ``x[1:-1]`` and ``x[2:]``.
_LEAST_WINDOWS = 8

# Stands for a value that no equation makes, and for an index that is no part at integers.
OUTSIDE = -1


class IndexReads(NamedTuple):
    """The equations of a program that read a part of an array by index, without index arrays.

    Args:
        equations: the equations.
        bases: the number of the array that each of them reads.
        numbers: the number of the part that each of them reads; `OUTSIDE` if it is no part at integers.
    """

    equations: np.ndarray
    bases: np.ndarray
    numbers: np.ndarray


class Table:
    """The operands, primitives and types of a program, as numbers.

    Args:
        equations: the equations of the program.
        outputs: its outputs.
    """

    def __init__(self, equations: Sequence[Equation], outputs: Sequence[Operand]) -> None:
        self.equations = equations
        self._primitives, self.primitive = _distinct([each.primitive for each in equations])
        operands = [each.operands for each in equations]
        results = [each.results for each in equations]
        # The operands of equation i are those from starts[i] on.
        lengths = np.fromiter(map(len, operands), np.int64, len(operands))
        self.starts = np.concatenate(([0], np.cumsum(lengths)))
        made = list(chain.from_iterable(results))
        if any(each.multiple_results for each in self._primitives):
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
        read = _made(np.fromiter(map(id, made), np.int64, len(made)), numbers, ids)
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
        avals, found = _distinct([x.aval for x in made])
        self._avals: dict[Any, int] = {}
        # The type of each value, as a number.
        self.types = np.full(self.size + len(self.outside), -1)
        self.types[numbers] = np.array([self._avals.setdefault(x, len(self._avals)) for x in avals], np.int64)[found]
        self.types[self.size :] = [self._type_of(x) for x in self.outside]
        # The parts of arrays at integers that equations read and write, and their numbers. Most indices are one
        # integer. Their numbers are looked up by this integer and the length of the axis.
        self.parts: list[tuple[Pattern, Key]] = []
        self._numbers_of_parts: dict[tuple[Pattern, Key], int] = {}
        self._quick: dict[tuple[int, int], int] = {}

    def _type_of(self, x: Operand) -> int:
        number = self._avals.setdefault(x.aval, len(self._avals))
        # Python's numbers have a type of their own: only NumPy's may become the first value of a carry.
        if type(x) is Literal and x.aval.weak:
            return self._avals.setdefault((type(x.value), number), len(self._avals))
        return number

    def kept(self, mask: np.ndarray) -> Table:
        """Return the table of the equations of a mask. They must read no result of the others."""
        found = copy(self)
        for name in ("effects", "reads", "_with_params"):
            vars(found).pop(name, None)
        found.equations = [*compress(self.equations, mask.tolist())]
        found.primitive = self.primitive[mask]
        lengths = np.diff(self.starts)
        found.starts = np.concatenate(([0], np.cumsum(lengths[mask])))
        found.size = len(found.equations) * self.width
        values = np.concatenate((np.repeat(mask, self.width), np.ones(len(self.outside), bool)))
        numbers = np.cumsum(values) - 1
        found.operands, found.outputs = numbers[self.operands[np.repeat(mask, lengths)]], numbers[self.outputs]
        found.types = self.types[values]
        return found

    def of(self, *primitives: Primitive) -> np.ndarray:
        """Return the equations of these primitives."""
        return np.flatnonzero(np.array([each in primitives for each in self._primitives])[self.primitive])

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
    def _with_params(self) -> np.ndarray:
        """The equations that have parameters or effects."""
        found = [i for i, each in enumerate(self.equations) if each.params or each.primitive.effect]
        return np.array(found, np.int64)

    @functools.cached_property
    def effects(self) -> np.ndarray:
        """A mask of the equations that have effects."""
        found = np.zeros(len(self.equations), bool)
        plain = np.array([each is index_p or (each.elementwise and not each.effect) for each in self._primitives], bool)
        asked = self._with_params[~plain[self.primitive[self._with_params]]]
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
        able = np.array([each.derivative is not CONSTANT for each in self._primitives], bool)
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
        has_slice = np.array([any(type(each) is tuple for each in pattern) for pattern, _ in self.parts] + [True], bool)
        others = np.flatnonzero(has_slice[numbers])
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
                numbers[[*keys]] = [self.part((pattern, key)) for key in keys.values()]
                bases.append(base)
        numbers[np.isin(reads.equations * width, bases)] = OUTSIDE
        return numbers

    def part(self, part: tuple[Pattern, Key]) -> int:
        """Return the number of a part at integers."""
        number = self._numbers_of_parts.setdefault(part, len(self.parts))
        if number == len(self.parts):
            self.parts.append(part)
        return number

    def parts_of(self, equations: np.ndarray) -> np.ndarray:
        """Return the number of the part at integers that each of some reads and writes has; else `OUTSIDE`."""
        quick = self._quick
        numbers: list[int] = []
        for i in equations.tolist():
            equation = self.equations[i]
            index, shape = equation.params["index"], equation.operands[0].aval.shape
            entry = index.entries[0] if len(index.entries) == 1 else None
            number = quick.get((entry, shape[0])) if type(entry) is int else None
            if number is None:
                part = pattern_of(index, shape)
                number = OUTSIDE if part is None else self.part(part)
                if type(entry) is int:
                    quick[entry, shape[0]] = number
            numbers.append(number)
        return np.array(numbers, np.int64)

    def kinds(self, kept: np.ndarray) -> np.ndarray:
        """Return a number for each kept equation, equal for equations of one kind: primitive, parameters, and types.

        Equations of one kind may be one equation in several rounds. It does not matter which values they read.

        Args:
            kept: a mask of equations.
        """
        found = _pairs(self.primitive, self._params(kept))
        for k in range(self.width):
            found = _pairs(found, self.types[k : self.size : self.width] + 1)
        lengths, read = np.diff(self.starts), self.types[self.operands]
        found = _pairs(found, lengths)
        for k in range(min(int(lengths.max(initial=0)), _MANY)):
            has = lengths > k
            found = _pairs(found, np.where(has, read[np.where(has, self.starts[:-1] + k, 0)] + 1, 0))
        many = np.flatnonzero(lengths > _MANY)
        if len(many):
            known: dict[bytes, int] = {}
            rest = np.zeros_like(found)
            types = [read[self.starts[i] : self.starts[i + 1]].tobytes() for i in many.tolist()]
            rest[many] = [known.setdefault(each, len(known) + 1) for each in types]
            found = _pairs(found, rest)
        return found[kept]

    def _params(self, kept: np.ndarray) -> np.ndarray:
        """Return a number for each equation, equal for equal parameters. An equation with effects equals no other."""
        numbers: dict[Any, int] = {(): 0}
        found = np.zeros(len(self.equations), np.int64)
        asked = self._with_params[kept[self._with_params]].tolist()
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
            # A parameter that cannot be hashed: the equation equals no other.
            return object()
        return key


def _made(made: np.ndarray, numbers: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Return the number of each value that is read, or `OUTSIDE` if no equation makes it.

    Args:
        made: the ids of all results.
        numbers: their numbers.
        read: the ids of the values that are read.
    """
    order = np.argsort(made)
    places = np.searchsorted(made[order], read)
    order = np.append(order, order[-1:])
    if not len(made):
        return np.full_like(read, OUTSIDE)
    return np.where(made[order[places]] == read, numbers[order[places]], OUTSIDE)


def first_places(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position where each distinct number occurs first, in order, and for each number which of these it is.

    ``[7, 5, 7]`` gives ``[0, 1]`` and ``[0, 1, 0]``.
    """
    distinct = np.unique(ids)
    inverse = np.searchsorted(distinct, ids)
    first = np.empty_like(distinct)
    # NumPy keeps the last value that is written to a position.
    first[inverse[::-1]] = np.arange(len(ids))[::-1]
    order = np.argsort(first)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return first[order], ranks[inverse]


def _distinct(objects: list[Any]) -> tuple[list[Any], np.ndarray]:
    """Return the distinct objects in the order in which they occur first, and the number of each object among them."""
    first, numbers = first_places(np.fromiter(map(id, objects), np.int64, len(objects)))
    return [objects[i] for i in first.tolist()], numbers


def _pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a number for each pair of numbers from 0 on, equal for equal pairs."""
    pairs = a * (int(b.max(initial=0)) + 1) + b
    most = int(pairs.max(initial=0))
    if most > 4 * len(pairs):
        return np.unique(pairs, return_inverse=True)[1]
    seen = np.zeros(most + 1, np.int64)
    seen[pairs] = 1
    return (np.cumsum(seen) - 1)[pairs]
