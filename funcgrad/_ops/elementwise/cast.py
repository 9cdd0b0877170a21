"""Conversion between dtypes, and the parts of complex numbers."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import Aval, is_inexact, is_integer, result_dtype
from funcgrad._core.bind import Tracer
from funcgrad._core.forms import Basic, Forms, Requirement
from funcgrad._core.numbers import refuse_number
from funcgrad._core.primitive import Primitive, View, ViewPrimitive
from funcgrad._core.trace.derivative import CONSTANT, Multilinear, NodeMaker
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.depends import same
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import ForeignArrayError


class _CastDerivative(Multilinear):
    """A cast is linear between inexact dtypes; a cast to integers or bool has no derivative."""

    __slots__ = ()

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        make = super().node_maker(primitive, active)
        return lambda trace, primals, nodes, y, params: (
            make(trace, primals, nodes, y, params) if is_inexact(params["dtype"]) else None
        )

    def recorder(self, primitive: Primitive, active: int, has_params: bool) -> None:
        """Return ``None``: the parameter decides whether there is a derivative."""

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        return super().push(primitive, primals, tangents, y, params) if is_inexact(params["dtype"]) else None


def _cast_numpy(x: Array, *, dtype: np.dtype) -> Array:
    if type(x) is complex:
        # Python's class refuses what NumPy's casts do: to drop the imaginary part.
        x = np.complex128(x)
    if hasattr(x, "astype"):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real if dtype.kind != "b" else x
        return x.astype(dtype)
    return dtype.type(x)


def _cast_transpose(y_bar: Value, x_aval: Aval) -> Value:
    return cast(y_bar, x_aval.dtype)


def _cast_xla(lax: Lax, x: Array, *, dtype: np.dtype) -> Array:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = lax.real(x)
    # XLA has the machine's byte order alone.
    return lax.convert_element_type(x, lax.canonical_dtype(dtype.newbyteorder("=")))


cast_p = Primitive(
    "cast",
    operands=("x",),
    numpy=_cast_numpy,
    xla=_cast_xla,
    aval=lambda x, *, dtype: Aval(x.shape, dtype),
    derivative=_CastDerivative(("x",), [_cast_transpose]),
    batch=batch_same,
    cost=lambda y, x, **_: 0,
    forms=Forms(basic=Basic.CAST, depends=same),
)


def cast(x: Value, dtype: np.dtype) -> Value:
    """Return ``x`` in another dtype, or ``x`` itself if it has that dtype. A complex value loses its imaginary part."""
    # The default must not be ``None``: NumPy takes it for float64, and they would compare equal.
    if getattr(x, "dtype", False) == dtype:
        return x
    dtype = np.dtype(dtype)
    if dtype.kind in "OSUMm" and isinstance(x, Tracer):
        _refuse_dtype(x, dtype)
    if is_integer(dtype) and isinstance(x, Tracer) and x.dtype.kind == "i" and x.aval.weak:
        return fit_p(x, dtype=dtype)
    return cast_p(x, dtype=dtype)


# Convert a Python number under a transform to another kind of number that is weak too: 3 * 0.5.
weak_cast_p = Primitive(
    "weak_cast",
    operands=("x",),
    numpy=_cast_numpy,
    xla=_cast_xla,
    aval=lambda x, *, dtype: Aval(x.shape, dtype, weak=not x.shape),
    derivative=_CastDerivative(("x",), [_cast_transpose]),
    batch=batch_same,
    cost=lambda y, x, **_: 0,
    forms=Forms(depends=same),
)
weak_cast_p.operator = True


def _fit_numpy(x: Array, *, dtype: np.dtype) -> Array:
    y = np.asarray(x).astype(dtype)
    if not np.array_equal(y, x):
        refuse_number(x, dtype)
    return y[()]


# Convert a Python integer under a transform to the dtype of the integers that it meets; it must fit.
fit_p = Primitive(
    "fit",
    operands=("x",),
    numpy=_fit_numpy,
    xla=_cast_xla,
    aval=lambda x, *, dtype: Aval(x.shape, dtype),
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, x, **_: 0,
    forms=Forms(requires=Requirement.HAS_ROOM),
)


def _refuse_dtype(x: Tracer, dtype: np.dtype) -> NoReturn:
    raise ForeignArrayError(
        f"a traced value {x.aval} was to become an array of dtype {dtype.name}: by astype, or by an operation with an "
        f"array of that dtype. Only numbers carry a derivative under {x._owner.transform}. Convert the other array "
        "with .astype(float) if it holds numbers, or take the plain values of this one with fg.stop_gradient(x)."
    )


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the real part."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """Return the complex dtype whose parts have this dtype."""
    return np.dtype(f"c{2 * max(dtype.itemsize, 4)}") if dtype.kind == "f" else dtype


def _part_aval(x: Aval) -> Aval:
    return Aval(x.shape, real_dtype(x.dtype), x.weak)


# Cotangents follow JAX's convention: the pairing is sum(y_bar * y_dot) without conjugation. real and imag are linear
# over the real numbers only, so their transposes differ from those of complex-linear operations.
real_p = ViewPrimitive(
    "real",
    operands=("x",),
    numpy=np.real,
    xla="real",
    aval=_part_aval,
    derivative=Multilinear(("x",), [lambda y_bar: make_complex(y_bar, 0 * y_bar)]),
    batch=batch_same,
    cost=lambda y, x: 0,
    view=View(lambda x, part: make_complex(part, imag_p(x))),
    forms=Forms(depends=same),
)
imag_p = ViewPrimitive(
    "imag",
    operands=("x",),
    numpy=np.imag,
    xla="imag",
    aval=_part_aval,
    derivative=Multilinear(("x",), [lambda y_bar: make_complex(0 * y_bar, -y_bar)]),
    batch=batch_same,
    cost=lambda y, x: 0,
    view=View(lambda x, part: make_complex(real_p(x), part), same_in_cotangents=False),
    forms=Forms(depends=same),
)
conj_p = Primitive(
    "conj",
    operands=("x",),
    numpy=np.conjugate,
    xla="conj",
    aval=lambda x: x,
    derivative=Multilinear(("x",), [lambda y_bar: conj_p(y_bar)]),
    batch=batch_same,
    cost=lambda y, x: y.size,
    forms=Forms(depends=same),
)
# The parts and the conjugate of a Python number are Python numbers.
real_p.operator = imag_p.operator = conj_p.operator = True


def _complex_numpy(a: Array, b: Array) -> Array:
    y = np.empty(np.broadcast_shapes(np.shape(a), np.shape(b)), complex_dtype(np.result_type(a, b)))
    y.real = a
    y.imag = b
    return y if y.shape else y[()]


complex_p = elementwise(
    "complex",
    "a b",
    numpy=_complex_numpy,
    xla="complex",
    maps=[lambda t: real_p(t), lambda t: -imag_p(t)],
    jvps=[lambda t: complex_p(t, 0 * t), lambda t: complex_p(0 * t, t)],
    dtype=lambda a, b: complex_dtype(result_dtype(a, b)),
    flops=0,
)


def make_complex(a: Value, b: Value) -> Value:
    """Return ``a + ib`` for real parts of one dtype."""
    return complex_p(a, b)
