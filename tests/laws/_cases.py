"""One way to run one primitive: the drawn operands, the function of the differentiated ones, and its differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from tests.laws.rows._row import Row

Arrays = list[Any]
Function = Callable[..., Arrays]

# The step of five-point differences: their error is step**4 in the function, 1e-16 / step in rounding.
STEP = 2e-4


def rows_by_file() -> dict[str, list[Row]]:
    """Return the rows of every module beside ``_row.py``."""
    folder = Path(__file__).parent / "rows"
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*.py") if not path.stem.startswith("_"))
    names = [".".join(path.with_suffix("").parts) for path in paths]
    return {name: importlib.import_module(f"tests.laws.rows.{name}").ROWS for name in names}


def all_rows() -> list[Row]:
    """Return the rows of all files."""
    return [row for rows in rows_by_file().values() for row in rows]


@dataclass(frozen=True)
class Case:
    """A row with the dtype of its drawn operands."""

    row: Row
    dtype: np.dtype

    @property
    def id(self) -> str:
        return f"{self.row.id}-{self.dtype.name}"

    @property
    def drawn(self) -> list[int]:
        """Return the numbers of the operands that are drawn and differentiated."""
        return [i for i, x in enumerate(self.row.operands) if type(x) is tuple]

    def operands(self, rng: np.random.Generator) -> Arrays:
        """Return all operands. None can be written to, so a rule that tries raises an error."""
        return [
            read_only(draw(rng, x, self.dtype, self.row.sample)) if type(x) is tuple else self._given(x)
            for x in self.row.operands
        ]

    def _given(self, x: Any) -> Any:
        """Return a given operand in the precision of the drawn ones."""
        if not isinstance(x, np.ndarray):
            return x
        if x.dtype.kind not in "fc" or not self.drawn:
            return read_only(x.copy())
        parts = self.dtype.itemsize // (2 if self.dtype.kind == "c" else 1)
        return read_only(x.astype(f"c{2 * parts}" if x.dtype.kind == "c" else f"f{parts}"))

    def run(self, operands: Sequence[Any]) -> Arrays:
        """Return the results as a list, even if there is one."""
        y = self.row.primitive(*operands, **self.row.params)
        return list(y) if self.row.primitive.multiple_results else [y]

    def with_arrays(self, operands: Sequence[Any], arrays: Sequence[Any]) -> Arrays:
        """Return the operands with their arrays (all but Python numbers) replaced."""
        rest = iter(arrays)
        return [next(rest) if isinstance(x, np.ndarray) else x for x in operands]

    def function_of_arrays(self, operands: Sequence[Any]) -> tuple[Function, Arrays]:
        """Return the results as a function of all array operands, indices and predicates included; and these arrays."""
        arrays = [x for x in operands if isinstance(x, np.ndarray)]
        return lambda *xs: self.run(self.with_arrays(operands, xs)), arrays

    def function(self, operands: Sequence[Any]) -> Function:
        """Return the inexact results as a function of the drawn operands."""

        def f(*xs: Any) -> Arrays:
            whole = list(operands)
            for i, x in zip(self.drawn, xs, strict=True):
                whole[i] = x
            return [y for y in self.run(whole) if is_inexact(y.dtype)]

        return f


def cases(rows: Sequence[Row], *, real: Sequence[str], imaginary: Sequence[str] = ()) -> Iterator[Case]:
    """Return each row in each of its dtypes; once if nothing is drawn."""
    for row in rows:
        names = [*(real if row.complex != "only" else ()), *(imaginary if row.complex else ())]
        names = [name for name in names if name in (row.dtypes or names)]
        for name in names if any(type(x) is tuple for x in row.operands) else names[:1]:
            yield Case(row, np.dtype(name))


_RANGES = {"positive": (0.5, 2.0), "unit": (-0.9, 0.9), "above_one": (1.1, 3.0)}


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, sample: Any) -> np.ndarray:
    """Draw an array from the distribution that a row names."""
    if callable(sample):
        return np.asarray(sample(rng, shape, dtype), dtype)
    if dtype.kind == "c":
        parts = np.dtype(f"f{dtype.itemsize // 2}")
        return np.asarray(draw(rng, shape, parts, sample) + 1j * draw(rng, shape, parts, sample), dtype)
    if sample in _RANGES:
        return np.asarray(rng.uniform(*_RANGES[sample], shape), dtype)
    if sample == "distinct":
        size = int(np.prod(shape))
        spaced = 0.1 * (np.arange(size) - 0.5 * size) + rng.uniform(0, 0.04, size)
        return np.asarray(rng.permutation(spaced).reshape(shape), dtype)
    assert sample == "normal", f"unknown sample {sample!r}"
    return np.asarray(rng.normal(size=shape), dtype)


def like(rng: np.random.Generator, xs: Sequence[Any]) -> Arrays:
    """Draw random directions: normal arrays of the types of ``xs``."""
    return [read_only(draw(rng, x.shape, np.dtype(x.dtype), "normal")) for x in xs]


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def difference(f: Function, xs: Sequence[Any], x_dots: Sequence[Any], step: float = STEP) -> Arrays:
    """Return the derivative of ``f`` at ``xs`` along ``x_dots``, by five-point central differences."""

    def at(t: float) -> Arrays:
        return f(*[np.asarray(x + t * step * x_dot) for x, x_dot in zip(xs, x_dots, strict=True)])

    values = zip(at(-2), at(-1), at(1), at(2), strict=True)
    return [(8 * (np.asarray(d) - c) - (np.asarray(e) - b)) / (12 * step) for b, c, d, e in values]


def pairing(bars: Sequence[Any], dots: Sequence[Any]) -> float:
    """Return ``Re(sum(bar * dot))``, without conjugation: the pairing of cotangents with tangents."""
    return float(sum(np.sum(np.real(np.asarray(bar) * dot)) for bar, dot in zip(bars, dots, strict=True)))


def weight(bars: Sequence[Any], dots: Sequence[Any]) -> float:
    """Return the scale of the error of a pairing: the sum of its terms' sizes, at least 1."""
    return max(1.0, float(sum(np.sum(np.abs(np.asarray(bar) * dot)) for bar, dot in zip(bars, dots, strict=True))))


def assert_close(got: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    """Assert equality within ``tolerance`` of 1, or of the largest element if that is more."""
    assert len(got) == len(expected)
    pairs = zip(map(np.asarray, got), map(np.asarray, expected), strict=True)
    for i, (a, b) in enumerate(pairs):
        assert a.shape == b.shape, f"value {i} has shape {a.shape}, not {b.shape}"
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=f"value {i}")


def assert_types(got: Sequence[Any], expected: Sequence[Any]) -> None:
    """Assert that shapes and dtypes are the same, one by one."""
    types = [(np.shape(x), np.dtype(x.dtype)) for x in got]
    assert types == [(np.shape(x), np.dtype(x.dtype)) for x in expected]
