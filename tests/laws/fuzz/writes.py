"""Random programs that write: through names, views and copies, by index, in loops and in functions.

A program is text that runs on NumPy as it stands; what it holds at the end, in every variable, is what it returns. A
statement is drawn, tried on NumPy after all that came before it, and kept if NumPy takes it. Names that begin with
``c`` are of plain arrays, which never take what is traced. One program in eight writes NaN, too.
"""

from __future__ import annotations

import builtins
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.laws.fuzz.ops_writes import CALLS, COPYING, CREATING, LOOPS, NUMBERS, OF_COMPLEX, VIEWING

SHAPES = ((5,), (6,), (3, 4), (3, 3), (2, 3, 2), (1, 4))
MAX_MAGNITUDE = 50.0
MAX_SIZE = 60


def bump(a: Any, v: Any) -> None:
    """Write to an argument."""
    a += v


def mirrored(a: Any) -> Any:
    """Write to an argument through a view, and return another view."""
    head = a[::-1]
    head[:1] = a[:1] * 0.5
    return a[..., :2]


def fill_rows(a: Any, b: Any) -> Any:
    """Compute a recurrence along the first axis."""
    for t in range(1, len(a)):
        a[t] = np.tanh(a[t - 1]) + b[t - 1] * 0.3
    return a


def swap(a: Any, i: int, j: int) -> None:
    """Exchange two rows."""
    a[[i, j]] = a[[j, i]]


HELPERS = {"bump": bump, "mirrored": mirrored, "fill_rows": fill_rows, "swap": swap, "operator": operator}
# The method that Python calls for the statement.
IN_PLACE = {
    "+=": "iadd",
    "-=": "isub",
    "*=": "imul",
    "/=": "itruediv",
    "//=": "ifloordiv",
    "**=": "ipow",
    "@=": "imatmul",
}


@dataclass(frozen=True)
class Program:
    """A function of arrays ``x`` and ``z``. A line that contains line breaks is a loop."""

    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    lines: tuple[str, ...]
    seed: int

    def source(self) -> str:
        """Return the function as text."""
        body = [f"    {part}" for line in self.lines for part in line.split("\n")]
        return "\n".join(
            ["def program(x, z):", *body, f"    return {{{', '.join(f'{n!r}: {n}' for n in self.names())}}}"]
        )

    def names(self) -> list[str]:
        """Return all variables."""
        found = ["x", "z"]
        for line in self.lines:
            target = line.split(" ", 1)[0]
            if target[0] in "vc" and target[1:].isdigit() and line.startswith(f"{target} = ") and target not in found:
                found.append(target)
        return found

    def function(self, new: Any = lambda a: a, **more: Any) -> Any:
        """Return the program as a function. ``new`` is applied to results of operations."""
        scope: dict[str, Any] = {"np": np, "new": new, **HELPERS, **more}
        builtins.exec(compile(self.source(), f"<writes {self.seed}>", "exec"), scope)
        return scope["program"]

    def arguments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return new arguments."""
        rng = np.random.default_rng(self.seed)
        sizes = [math.prod(shape) for shape in self.shapes]
        # No two numbers are close to each other, because sorting and the maximum would have a kink there.
        steps = rng.permutation(sum(sizes)) + rng.uniform(0.2, 0.8, sum(sizes))
        numbers = np.round(3 * steps / len(steps) - 1.5, 3)
        return numbers[: sizes[0]].reshape(self.shapes[0]), numbers[sizes[0] :].reshape(self.shapes[1])

    def widened(self) -> Program:
        """Return the same arguments in double precision."""
        lines = [line.replace("float32", "float64").replace("complex64", "complex128") for line in self.lines]
        return Program(self.shapes, tuple(lines), self.seed)

    def text(self) -> str:
        """Return a text that can be read and run again."""
        return f"# seed {self.seed}, shapes {self.shapes}\n{self.source()}"


def program_of(seed: int) -> Program:
    """Return the program of a seed."""
    rng = Random(seed)
    shape = rng.choice(SHAPES)
    program = Program((shape, rng.choice((shape, shape, rng.choice(SHAPES)))), (), seed)
    draw = _Draw(rng, rng.random() < 0.125)
    wanted = rng.randint(4, 12)
    for _ in range(6 * wanted):
        if len(program.lines) >= wanted:
            break
        scope = _run(program)
        assert scope is not None
        line = draw.statement(scope)
        if line is None:
            continue
        longer = Program(program.shapes, (*program.lines, line), seed)
        if _run(longer) is not None:
            program = longer
    return program


def _run(program: Program) -> Mapping[str, Any] | None:
    """Return the values of the variables; nothing if NumPy refuses or numbers grow too large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values = program.function()(*program.arguments())
    except Exception:  # noqa: BLE001  (what NumPy refuses is no program)
        return None
    for value in values.values():
        x = np.asarray(value)
        if x.dtype.kind not in "buifc" or x.size > MAX_SIZE or x.ndim > 4 or np.any(np.abs(x) >= MAX_MAGNITUDE):
            return None
    return values


class _Draw:
    """The sampler of statements, with the values of the variables.

    Args:
        rng: the random numbers.
        nan: whether NaN is written.
    """

    def __init__(self, rng: Random, nan: bool = False) -> None:
        self.rng = rng
        self.nan = nan
        self.count = 0
        # Whether the last index that was drawn has a mask. NumPy does not check such an index for overlap.
        self.masked = False

    def statement(self, scope: Mapping[str, Any]) -> str | None:
        rng = self.rng
        self.scope = scope
        self.arrays = [n for n in scope if type(scope[n]) is np.ndarray]
        self.traced = [n for n in self.arrays if n[0] != "c"]
        self.plain = [n for n in self.arrays if n[0] == "c"]
        kinds = [(self.operation, 4), (self.view, 5), (self.copy, 2), (self.alias, 1), (self.write, 8)]
        kinds += [
            (lambda: self.filled(NUMBERS), 1.5),
            (self.augmented, 5),
            (self.loop, 2),
            (self.call, 3),
            (self.constant, 1),
            (self.plain_write, 1.5),
        ]
        return rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def pick(self) -> str:
        """Draw an array. The newest arrays are drawn more often."""
        return self.traced[min(int(self.rng.random() ** 0.6 * len(self.traced)), len(self.traced) - 1)]

    # Statements that make arrays.

    def value(self, shape: tuple[int, ...]) -> str:
        """Draw an expression of this shape, or of a shape that broadcasts to it."""
        rng = self.rng
        kind = rng.random()
        if self.nan and rng.random() < 0.15:
            return "np.nan" if not shape or rng.random() < 0.6 else f"np.where({self.mask(shape, True)}, np.nan, 0.5)"
        if kind < 0.12:
            return rng.choice(("0", "1.5", "-2", "0.25", "np.float64(0.5)"))
        if kind < 0.27:
            return self.numbers(shape)
        if kind < 0.37:
            return f"np.sum({self.pick()}) * 0.1" if rng.random() < 0.7 else f"{self.part(1)} * 0.5"
        return self.part(math.prod(shape), shape)

    def part(self, size: int, shape: tuple[int, ...] = ()) -> str:
        """Draw this number of traced elements."""
        rng = self.rng
        same = [n for n in self.traced if self.scope[n].shape == shape and shape]
        if same and rng.random() < 0.5:
            name = rng.choice(same)
        else:
            name = self.pick()
            a = self.scope[name]
            if a.size < max(size, 1):
                return "0.75"
            start = rng.randint(0, a.size - size)
            flat = f"{name}.reshape(-1)[{start}:{start + size}]"
            name = f"{flat}[::-1].reshape({shape})" if rng.random() < 0.2 else f"{flat}.reshape({shape})"
        return rng.choice((name, name, f"{name} * 0.5", f"np.sin({name})", f"np.tanh({name}) + 0.1"))

    def numbers(self, shape: tuple[int, ...]) -> str:
        size = math.prod(shape)
        text = f"np.array({[round(self.rng.uniform(-1, 1), 2) for _ in range(size)]})"
        same = [n for n in self.plain if self.scope[n].shape == shape]
        if same and self.rng.random() < 0.6:
            return self.rng.choice(same)
        return text if len(shape) == 1 else f"{text}.reshape({shape})"

    def filled(self, templates: Sequence[str]) -> str:
        """Draw one of the expressions, for arrays that are drawn."""
        rng = self.rng
        template = rng.choice(templates)
        a = self.pick()
        x = self.scope[a]
        n = max(x.shape[0], 1) if x.ndim else 1
        words: dict[str, Callable[[], Any]] = {
            "numbers": lambda: self.numbers(x.shape),
            "mask": lambda: self.mask(x.shape),
            "integers": lambda: self.integers(x),
            "basic": lambda: self.basic(x),
            "shape": lambda: self.shape(x.size),
            "axes": lambda: rng.sample(range(x.ndim), x.ndim),
            "axis": lambda: rng.randrange(x.ndim) if x.ndim else 0,
            "rows": lambda: [rng.randrange(n) for _ in range(3)],
            "turns": lambda: rng.randrange(4),
            "sections": lambda: rng.choice((1, 2, 3)),
            "new": self.fresh,
            "i": lambda: rng.randrange(n),
            "j": lambda: rng.randrange(n),
        }
        needed = {word: words[word]() for word in words if f"{{{word}}}" in template}
        return template.format(a=a, b=self.pick(), n=n, **needed)

    def operation(self) -> str:
        return f"{self.fresh()} = new({self.filled(CREATING)})"

    def copy(self) -> str:
        return f"{self.fresh()} = new({self.filled(COPYING)})"

    def view(self) -> str:
        complex_ = [n for n in self.traced if self.scope[n].dtype.kind == "c"]
        if complex_ and self.rng.random() < 0.3:
            a = self.rng.choice(complex_)
            return f"{self.fresh()} = {self.rng.choice(OF_COMPLEX).format(a=a, basic=self.basic(self.scope[a]))}"
        return f"{self.fresh()} = {self.filled(VIEWING)}"

    def alias(self) -> str:
        return f"{self.fresh()} = {self.pick()}"

    def shape(self, size: int) -> str:
        divisors = [d for d in range(1, size + 1) if size % d == 0] or [1]
        d = self.rng.choice(divisors)
        return str(self.rng.choice(((d, -1), (-1, d), (size,), (1, size), (size, 1), (d, size // d))))

    # Indices.

    def slice(self, n: int) -> str:
        rng = self.rng
        ends = ["", *map(str, range(-n, n + 1))]
        step = rng.choice(("", "", ":2", ":-1", ":-2"))
        return (
            f"{rng.choice(ends) if rng.random() < 0.6 else ''}:{rng.choice(ends) if rng.random() < 0.4 else ''}{step}"
        )

    def basic(self, x: np.ndarray) -> str:
        rng = self.rng
        entries = []
        for n in x.shape[: rng.randint(min(x.ndim, 1), x.ndim)]:
            kind = rng.random()
            entries.append(str(rng.randrange(-n, n)) if kind < 0.3 and n else self.slice(n))
        if rng.random() < 0.15:
            entries.insert(rng.randint(0, len(entries)), "None")
        if rng.random() < 0.1 or not entries:
            entries.insert(rng.randint(0, len(entries)), "...")
        return ", ".join(entries)

    def integers(self, x: np.ndarray) -> str:
        rng = self.rng
        if not x.ndim:
            return "None"
        one = lambda n, k: str([rng.randrange(-n, n) for _ in range(k)]) if n else "[]"
        k = rng.randint(1, 4)
        entries = [one(n, k) if rng.random() < 0.6 else self.slice(n) for n in x.shape[: rng.randint(1, x.ndim)]]
        if rng.random() < 0.2:
            entries = [f"np.array([{one(x.shape[0], 2)}, {one(x.shape[0], 2)}])", *entries[1:]]
        if rng.random() < 0.15:
            entries.insert(0, rng.choice(("...", "None")))
        return ", ".join(entries)

    def mask(self, shape: tuple[int, ...], whole: bool = False) -> str:
        shape = shape[: self.rng.randint(1, len(shape))] if shape and not whole else shape
        bits = [self.rng.random() < 0.5 for _ in range(math.prod(shape))]
        return f"np.array({bits}).reshape({shape})"

    def index(self, name: str) -> str:
        rng = self.rng
        x = self.scope[name]
        kind = rng.random()
        self.masked = kind >= 0.75 and x.ndim > 0
        if kind < 0.5 or not x.ndim:
            return self.basic(x)
        if kind < 0.75:
            return self.integers(x)
        if kind < 0.87:
            return self.mask(x.shape)
        other = rng.choice([n for n in self.traced if self.scope[n].shape == x.shape])
        return rng.choice((f"{name} > 0.1", f"np.abs({name}) < 0.5", f"{name} < {other}"))

    # Statements that write.

    def target(self, name: str) -> tuple[str, tuple[int, ...]] | None:
        index = self.index(name)
        try:
            shape = np.shape(builtins.eval(f"{name}[{index}]", {"np": np, **self.scope}))
        except Exception:  # noqa: BLE001  (no index of this array)
            return None
        return f"{name}[{index}]", shape

    def write(self) -> str | None:
        target = self.target(self.pick())
        if target is None:
            return None
        value = self.value(target[1])
        return f"{target[0]} = {f'np.copy({value})' if self.masked or self.overlap(target[0], value) else value}"

    def overlap(self, target: str, value: str) -> bool:
        """Return whether NumPy may read elements that it has just written: it compares signs of strides, not sizes."""
        a, b = (np.asarray(builtins.eval(text, {"np": np, **self.scope})) for text in (target, value))
        return a.ndim == 1 and b.ndim > 0 and a.strides[0] != b.strides[-1] and np.shares_memory(a, b)

    def augmented(self) -> str | None:
        """Draw a statement such as ``a += v``, or the call of its operator, which keeps the name."""
        line = self._augmented()
        name, _, rest = (line or "").partition(" ")
        sign, _, value = rest.partition(" ")
        if name not in self.arrays or sign not in IN_PLACE or self.rng.random() < 0.7:
            return line
        return f"operator.{IN_PLACE[sign]}({name}, {value})"

    def _augmented(self) -> str | None:
        rng = self.rng
        name = self.pick()
        target = self.target(name) if rng.random() < 0.6 else (name, self.scope[name].shape)
        if target is None:
            return None
        where, shape = target
        if self.scope[name].dtype.kind in "iu" and rng.random() < 0.8:
            return f"{where} {rng.choice(('+=', '-=', '*=', '//=', '%=', '&=', '|=', '^=', '<<='))} {rng.choice('123')}"
        if rng.random() < 0.1:
            return f"{where} {rng.choice(('**= 2', '//= 0.3', '%= 0.7', '**= 3', '/= 2', '@= np.eye(3) * 0.5'))}"
        value = self.value(shape)
        sign = rng.choice(("+=", "+=", "-=", "*=", "*=", "/=", "@="))
        return f"{where} /= 2 + np.cos({value})" if sign == "/=" else f"{where} {sign} {value}"

    def loop(self) -> str:
        return self.filled(LOOPS)

    def call(self) -> str | None:
        line = self.filled(CALLS)
        # NumPy's ufunc.at also writes to read-only arrays.
        target = line.partition(".at(")[2].partition(",")[0]
        return None if target and not self.scope[target].flags.writeable else line

    # Values that are plain and stay plain.

    def constant(self) -> str:
        shape = self.scope[self.pick()].shape
        if self.plain and self.rng.random() < 0.4:
            c = self.rng.choice(self.plain)
            return f"{self.fresh('c')} = {self.rng.choice((c, f'{c}[{self.basic(self.scope[c])}]', f'{c}.T'))}"
        return f"{self.fresh('c')} = {self.numbers(shape)}.copy()"

    def plain_write(self) -> str | None:
        if not self.plain:
            return self.constant()
        c = self.rng.choice(self.plain)
        index = self.basic(self.scope[c])
        return self.rng.choice((f"{c} *= 2", f"{c}[{index}] = 0.3", f"{c}[{index}] += 1", f"{c} -= 0.5"))
