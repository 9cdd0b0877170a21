"""The text of a tensor, as PyTorch prints it: four digits, in columns, large ones shortened in the middle."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.autograd._tape.dtypes import complex_of, default_dtype


@dataclass
class PrintOptions:
    """How tensors are printed: PyTorch's options and their default values.

    Args:
        precision: digits after the point.
        threshold: the number of elements above which the middle is left out.
        edgeitems: how many elements are shown at each end then.
        linewidth: characters in a line.
        sci_mode: whether numbers are written with exponents; ``None`` decides by their size.
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


# The options of the process, which ``torch.set_printoptions`` changes.
OPTIONS = PrintOptions()
DEFAULT_DTYPES = frozenset(np.dtype(name) for name in ("int64", "bool"))

Format = Callable[[Any], str]


def tensor_text(value: np.ndarray, suffix: str) -> str:
    """Return ``tensor([1., 2.], requires_grad=True)``."""
    prefix = "tensor("
    suffixes = []
    if value.size == 0:
        contents = "[]"
        if value.ndim != 1:
            suffixes.append(f"size={value.shape}")
        if value.dtype != default_dtype():
            suffixes.append(f"dtype={value.dtype.name}")
    else:
        contents = _contents(value, len(prefix))
        if value.dtype not in (*DEFAULT_DTYPES, default_dtype(), complex_of(default_dtype())):
            suffixes.append(f"dtype={value.dtype.name}")
    if suffix:
        suffixes.append(suffix)
    return _with_suffixes(prefix + contents, suffixes, len(prefix))


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    parts = [text]
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > OPTIONS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"


def _contents(value: np.ndarray, indent: int) -> str:
    if value.dtype.kind == "V":
        # The dtype is bfloat16 or a similar one.
        value = value.astype(np.float32)
    summarized = value.size > OPTIONS.threshold
    shown = _edges(value) if summarized else value
    if value.dtype.kind != "c":
        return _nested(value, indent, summarized, *_format(shown))
    real, real_width = _format(np.real(shown))
    imag, imag_width = _format(np.imag(shown))

    def both(x: complex) -> str:
        text = (imag(x.imag) + "j").lstrip()
        return real(x.real) + (text if text[0] in "+-" else "+" + text)

    return _nested(value, indent, summarized, both, real_width + imag_width + 1)


def _edges(value: np.ndarray) -> np.ndarray:
    """Return the elements that are shown of a large array."""
    for axis, n in enumerate(value.shape):
        if n > 2 * OPTIONS.edgeitems:
            value = value.take([*range(OPTIONS.edgeitems), *range(n - OPTIONS.edgeitems, n)], axis)
    return value


def _format(value: np.ndarray) -> tuple[Format, int]:
    """Return the format of the elements and its width: fixed point, scientific, or integers with a point."""
    if value.dtype.kind != "f":
        width = max((len(str(x)) for x in value.ravel().tolist()), default=1)
        return lambda x: str(x).rjust(width), width
    flat = value.ravel().astype(np.float64)
    finite = flat[np.isfinite(flat) & (flat != 0)]
    if not finite.size:
        return lambda x: _integer(x).rjust(1), 1
    sizes = np.abs(finite)
    scientific = OPTIONS.sci_mode
    if scientific is None:
        scientific = sizes.max() / sizes.min() > 1000.0 or sizes.max() > 1.0e8 or sizes.min() < 1.0e-4
    if scientific:
        width = max(len(f"{x:.{OPTIONS.precision}e}") for x in finite.tolist())
        return lambda x: f"{x:{width}.{OPTIONS.precision}e}", width
    if (finite == np.ceil(finite)).all():
        width = max(len(f"{x:.0f}") + 1 for x in finite.tolist())
        return lambda x: _integer(x).rjust(width), width
    width = max(len(f"{x:.{OPTIONS.precision}f}") for x in finite.tolist())
    return lambda x: f"{x:.{OPTIONS.precision}f}".rjust(width), width


def _integer(x: float) -> str:
    return f"{x:.0f}" + ("." if math.isfinite(x) else "")


def _nested(value: np.ndarray, indent: int, summarized: bool, write: Format, width: int) -> str:
    if value.ndim == 0:
        return write(value.item())
    cut = summarized and len(value) > 2 * OPTIONS.edgeitems
    if value.ndim == 1:
        return _vector(value, indent, cut, write, width)
    rows = [*value[: OPTIONS.edgeitems], *value[-OPTIONS.edgeitems :]] if cut else list(value)
    texts = [_nested(row, indent + 1, summarized, write, width) for row in rows]
    if cut:
        texts.insert(OPTIONS.edgeitems, "...")
    return "[" + ("," + "\n" * (value.ndim - 1) + " " * (indent + 1)).join(texts) + "]"


def _vector(value: np.ndarray, indent: int, cut: bool, write: Format, width: int) -> str:
    if cut:
        items = [
            *map(write, value[: OPTIONS.edgeitems].tolist()),
            " ...",
            *map(write, value[-OPTIONS.edgeitems :].tolist()),
        ]
    else:
        items = list(map(write, value.tolist()))
    per_line = max(1, (OPTIONS.linewidth - indent) // (width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
