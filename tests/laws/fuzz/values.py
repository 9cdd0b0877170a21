"""The inputs of random programs, as text: shapes, dtypes, layouts, ties, NaN and infinities, numbers of every kind."""

from __future__ import annotations

import math
from random import Random
from typing import Any

SHAPES = ((), (1,), (2,), (3,), (4,), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1), (2, 2), (2, 1, 3), (2, 3, 2), (4, 1))
EMPTY = ((0,), (0, 3), (2, 0), (1, 0, 2))
DOUBLES = ("float64",) * 6 + ("complex128", "int64", "bool")
MIXED = (
    "float64",
    "float64",
    "float32",
    "float32",
    "float16",
    "complex64",
    "complex128",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
TIES = (0.0, 1.0, -1.0, 0.5, 2.0, 1.0)
SPECIALS = ("np.nan", "np.nan", "np.inf", "-np.inf", "-0.0")


class Style:
    """The features that a program may contain, drawn once for each program."""

    def __init__(self, rng: Random) -> None:
        self.doubles = rng.random() < 0.6
        self.ties = rng.random() < 0.25
        self.specials = rng.random() < 0.22
        self.empty = rng.random() < 0.12
        self.layouts = rng.random() < 0.4
        self.objects = rng.random() < 0.04
        self.numbers = rng.random() < 0.25
        self.control = rng.random() < 0.3
        self.dtypes = DOUBLES if self.doubles else MIXED
        self.shapes = SHAPES + (EMPTY * 2 if self.empty else ())


def real_text(rng: Random, style: Style) -> str:
    if style.specials and rng.random() < 0.25:
        return rng.choice(SPECIALS)
    if style.ties and rng.random() < 0.7:
        return repr(rng.choice(TIES))
    return repr(round(rng.gauss(0, 1.3), 2))


def element(rng: Random, style: Style, dtype: str) -> str:
    if dtype == "bool":
        return rng.choice(("True", "False"))
    if dtype.startswith("uint"):
        return str(rng.choice((0, 1, 2, 3, 5, 7)))
    if dtype.startswith("int"):
        return str(rng.choice((0, 1, 2, 3, -1, -2, 5, 7)))
    if dtype.startswith("complex"):
        return f"complex({real_text(rng, style)}, {real_text(rng, style)})"
    return real_text(rng, style)


def nested(rng: Random, style: Style, dtype: str, shape: tuple[int, ...]) -> str:
    if not shape:
        return element(rng, style, dtype)
    return "[" + ", ".join(nested(rng, style, dtype, shape[1:]) for _ in range(shape[0])) + "]"


def array_text(rng: Random, style: Style, shape: tuple[int, ...], dtype: str) -> str:
    """Draw an array, contiguous or in another layout."""
    if 0 in shape:
        return f"np.zeros({shape}, np.{dtype})"
    name = "np.bool_" if dtype == "bool" else f"np.{dtype}"
    plain = f"np.array({nested(rng, style, dtype, shape)}, {name})"
    if not style.layouts or rng.random() < 0.4 or not shape:
        return plain
    if len(shape) > 1 and rng.random() < 0.4:
        return rng.choice((f"np.asfortranarray({plain})", f"np.ascontiguousarray({plain}.T).T"))
    return rng.choice(
        (
            f"np.repeat({plain}, 2, axis=0)[::2]",
            f"{plain}[::-1]",
            f"np.frombuffer({plain}.tobytes(), {name}).reshape({shape})",
            f"np.broadcast_to(np.array({nested(rng, style, dtype, shape[1:])}, {name}), {shape})",
        )
    )


def number_text(rng: Random, style: Style) -> str:
    """Draw a number of Python or NumPy."""
    kind = rng.choice(("int", "int", "float", "float", "bool", "complex", "np", "np", "0-d"))
    if kind == "bool":
        return rng.choice(("True", "False"))
    if kind == "int":
        return rng.choice(("0", "1", "2", "3", "-1", "-2"))
    if kind == "float":
        return real_text(rng, style)
    if kind == "complex":
        return (
            rng.choice(("(1+0.5j)", "2j", "(0.5-1j)")) if "complex128" in style.dtypes and rng.random() < 0.5 else "0.5"
        )
    dtype = rng.choice(style.dtypes)
    name = "np.bool_" if dtype == "bool" else f"np.{dtype}"
    inner = element(rng, style, dtype)
    return f"{name}({inner})" if kind == "np" else f"np.array({inner}, {name})"


def input_text(rng: Random, style: Style, earlier: dict[str, Any]) -> tuple[str, bool]:
    """Return one input's text, and whether it may be traced."""
    arrays = [name for name, x in earlier.items() if getattr(x, "ndim", 0) and x.dtype != object]
    if arrays and rng.random() < 0.08:
        name = rng.choice(arrays)
        return rng.choice((name, f"{name}[::-1]", f"{name}[:1]", f"{name}.T")), True
    if style.objects and rng.random() < 0.5:
        shape = rng.choice(((2,), (3,), (2, 3)))
        # Python's `>` finds the greatest object. With NaN the answer depends on the order of the objects.
        finite = Style.__new__(Style)
        finite.__dict__.update({**vars(style), "specials": False})
        return f"np.array({nested(rng, finite, rng.choice(('float64', 'int64')), shape)}, object)", False
    if style.numbers and rng.random() < 0.4:
        return number_text(rng, style), True
    return array_text(rng, style, rng.choice(style.shapes), rng.choice(style.dtypes)), rng.random() < 0.85


def size_of(shape: tuple[int, ...]) -> int:
    return math.prod(shape)
