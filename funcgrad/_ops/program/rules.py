"""The table of simplifications: small rules, each exact to the last bit for every number.

Rules that are not exact are left out. For floats ``x + 0`` turns -0 into 0, ``0 * x`` is NaN for an infinity,
``-(a - b)`` is -0 where ``b - a`` is 0, and a sum of n equal numbers is rounded n times. Complex products mix parts:
``1 * (inf + 0j)`` has a NaN. Complex arithmetic is therefore not simplified, only moves of complex elements are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Literal, Operand
from funcgrad._core.graph.simplify import ELEMENTWISE_RULES, RULES, Site
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, power_p, sub_p
from funcgrad._ops.elementwise.cast import cast_p
from funcgrad._ops.elementwise.select import select_p
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.layout.copy import copy_p
from funcgrad._ops.layout.fill import full_like_p
from funcgrad._ops.layout.shape import reshape_p, transpose_p
from funcgrad._types import Value

# Larger constants are not searched for equal elements.
_SEARCH_LIMIT = 1 << 14


def _number(site: Site, x: Operand) -> Any:
    """Return the number that all elements of an operand equal, as a NumPy number; ``None`` if it is unknown."""
    if (filled := site.made(x, full_like_p)) is not None:
        return x.aval.dtype.type(filled.params["value"])
    if (repeated := site.made(x, broadcast_to_p)) is not None:
        (x,) = repeated.operands
    value = site.constant(x)
    if type(value) is np.ndarray and 0 < value.size <= _SEARCH_LIMIT and value.dtype.kind in "fiub":
        return value.flat[0] if _is_one_number(value) else None
    return value if issubclass(type(value), np.generic) else None


def _is_one_number(values: np.ndarray) -> bool:
    first = values.flat[0]
    # 0 and -0 compare equal but differ; NaN is unequal to itself, so it is not simplified.
    return bool(np.all(values == first)) and (first != 0 or not np.any(np.signbit(values) != np.signbit(first)))


def _is_simple(site: Site) -> bool:
    return site.aval.dtype.kind in "fiu"


def _times(site: Site) -> Operand | None:
    """Simplify ``1 * x`` to x and ``-1 * x`` to -x; move the sign of one factor into the other's constant."""
    if not _is_simple(site):
        return None
    a, b = site.operands
    for x, factor in ((a, b), (b, a)):
        value = _number(site, factor)
        if value is None or x.aval.shape != site.aval.shape:
            continue
        if value == 1:
            return x
        if value == -1:
            return site.emit(neg_p, x)
        if (negated := site.made(x, neg_p)) is not None and value.dtype.kind != "u":
            with np.errstate(over="ignore"):
                return site.emit(mul_p, Literal(-value), *negated.operands)
    return _signed(site, mul_p)


def _signed(site: Site, primitive: Primitive) -> Operand | None:
    """Move the signs of factors to the product; a sum can absorb it there, and two signs cancel."""
    signs = [site.made(x, neg_p) for x in site.operands]
    bare = [x if negated is None else negated.operands[0] for x, negated in zip(site.operands, signs, strict=True)]
    if signs.count(None) == 2:
        return None
    y = site.emit(primitive, *bare)
    return y if None not in signs else site.emit(neg_p, y)


def _divided(site: Site) -> Operand | None:
    """Simplify ``x / 1`` to x; replace a division by a power of two by a product, which takes a fifth of the time."""
    x, divisor = site.operands
    if x.aval.dtype.kind != "f" or site.aval.dtype != x.aval.dtype:
        return None
    value = _number(site, divisor)
    if value is None or x.aval.shape != site.aval.shape:
        return _signed(site, div_p)
    if value == 1:
        return x
    fraction, exponent = math.frexp(float(value))
    limits = np.finfo(value.dtype)
    if abs(fraction) == 0.5 and limits.minexp < exponent < limits.maxexp - 1 and limits.minexp < 1 - exponent:
        return site.emit(mul_p, x, Literal(value.dtype.type(1) / value))
    return _signed(site, div_p)


def _plus(site: Site) -> Operand | None:
    """Simplify ``x + -y`` to ``x - y``; drop the addition of -0, and of 0 for integers."""
    if not _is_simple(site):
        return None
    a, b = site.operands
    for x, y in ((a, b), (b, a)):
        if x.aval.shape == site.aval.shape and _is_zero(_number(site, y), negative=True):
            return x
        if (negated := site.made(y, neg_p)) is not None:
            return site.emit(sub_p, x, *negated.operands)
    return None


def _minus(site: Site) -> Operand | None:
    """Simplify ``x - -y`` to ``x + y``; drop the subtraction of 0."""
    if not _is_simple(site):
        return None
    x, y = site.operands
    if x.aval.shape == site.aval.shape and _is_zero(_number(site, y), negative=False):
        return x
    negated = site.made(y, neg_p)
    return None if negated is None else site.emit(add_p, x, *negated.operands)


def _is_zero(value: Value, *, negative: bool) -> bool:
    """Return whether a number is an integer's zero, or a float's zero of this sign."""
    return value is not None and bool(value == 0) and (value.dtype.kind in "iu" or bool(np.signbit(value)) is negative)


def _negative(site: Site) -> Operand | None:
    """Simplify ``--x`` to x, ``-(c * x)`` to ``-c * x``, and ``-(c / x)`` to ``-c / x``."""
    (x,) = site.operands
    if not _is_simple(site):
        return None
    if (negated := site.made(x, neg_p)) is not None:
        return negated.operands[0]
    for primitive in (mul_p, div_p):
        product = site.made(x, primitive)
        for k, factor in enumerate(product.operands if product is not None and site.aval.dtype.kind == "f" else ()):
            value = _number(site, factor)
            if product is not None and value is not None and product.operands[1 - k].aval.shape == site.aval.shape:
                a, b = product.operands
                return site.emit(primitive, *((a, Literal(-value)) if k else (Literal(-value), b)))
    return None


def _power(site: Site) -> Operand | None:
    """Simplify ``x ** 1`` to x, and ``(-x) ** 2`` to ``x ** 2``."""
    (x,), exponent = site.operands, site.params["exponent"]
    if type(exponent) is not int or not _is_simple(site):
        return None
    negated = site.made(x, neg_p) if exponent == 2 else None
    return x if exponent == 1 else None if negated is None else site.emit(power_p, *negated.operands, exponent=2)


def _selected(site: Site) -> Operand | None:
    """Simplify equal branches, a known condition, and a choice nested in a choice by the same condition."""
    c, a, b = site.operands
    known = _number(site, c)
    if a is b or issubclass(type(known), np.bool):
        chosen = a if a is b or known else b
        return chosen if chosen.aval.shape == site.aval.shape else None
    inner = site.made(a, select_p)
    if inner is not None and inner.operands[0] is c:
        return site.emit(select_p, c, inner.operands[1], b)
    inner = site.made(b, select_p)
    return None if inner is None or inner.operands[0] is not c else site.emit(select_p, c, a, inner.operands[2])


def _cast(site: Site) -> Operand | None:
    """Drop a cast to the same dtype; drop the first of two casts if it loses nothing."""
    (x,) = site.operands
    if x.aval.dtype == site.aval.dtype:
        return x
    first = site.made(x, cast_p)
    if first is None or not _loses_nothing(first.operands[0].aval.dtype, x.aval.dtype, site.aval.dtype):
        return None
    (original,) = first.operands
    return original if original.aval.dtype == site.aval.dtype else site.emit(cast_p, original, **site.params)


def _loses_nothing(narrow: np.dtype, wide: np.dtype, last: np.dtype) -> bool:
    """Return whether the second dtype holds each number of the first, and the last gets the same from both.

    A float out of an integer dtype's range converts to a number that depends on the float's dtype.
    """
    if narrow.kind == wide.kind and narrow.kind in "fiu":
        return wide.itemsize >= narrow.itemsize and last.kind in ("biufc" if narrow.kind in "iu" else "bfc")
    return (
        narrow.kind in "iu" and wide.kind == "f" and 8 * narrow.itemsize <= np.finfo(wide).nmant and last.kind in "bfc"
    )


def _copied(site: Site) -> Operand | None:
    """Drop a copy that no caller sees."""
    return site.operands[0]


def _reshaped(site: Site) -> Operand | None:
    """Keep the second of two reshapes; broadcast a repeated number directly to the new shape."""
    (x,), shape = site.operands, site.params["shape"]
    if x.aval.shape == shape:
        return x
    if (first := site.made(x, reshape_p)) is not None:
        return site.emit(reshape_p, *first.operands, shape=shape)
    repeated = site.made(x, broadcast_to_p)
    if repeated is not None and repeated.operands[0].aval.shape == ():
        return site.emit(broadcast_to_p, *repeated.operands, shape=shape)
    return None


def _transposed(site: Site) -> Operand | None:
    """Merge two transposes; drop one that does not change the order of the axes."""
    (x,), permutation = site.operands, site.params["permutation"]
    if tuple(permutation) == tuple(range(len(permutation))):
        return x
    first = site.made(x, transpose_p)
    if first is None:
        return None
    return site.emit(
        transpose_p, *first.operands, permutation=tuple([first.params["permutation"][i] for i in permutation])
    )


def _broadcast(site: Site) -> Operand | None:
    """Drop a broadcast to the same shape; keep the second of two."""
    (x,), shape = site.operands, site.params["shape"]
    if x.aval.shape == shape and type(x) is not Literal:
        return x
    first = site.made(x, broadcast_to_p)
    return None if first is None else site.emit(broadcast_to_p, *first.operands, shape=shape)


def _unrepeated(site: Site) -> Operand | None:
    """Drop broadcasts of operands, which an elementwise operation does itself.

    If all operands are broadcast numbers, broadcast the result instead.
    """
    shorter = [_shorter(site, x) for x in site.operands]
    if all(x is y for x, y in zip(shorter, site.operands, strict=True)):
        return None
    if all(x.aval.shape == () for x in shorter) and 0 not in site.aval.shape:
        return site.emit(broadcast_to_p, site.emit(site.primitive, *shorter, **site.params), shape=site.aval.shape)
    given = list(site.operands)
    for i, x in enumerate(shorter):
        tried = [*given[:i], x, *given[i + 1 :]]
        if site.primitive.aval(*[each.aval for each in tried], **site.params).shape == site.aval.shape:
            given = tried
    changed = any(x is not y for x, y in zip(given, site.operands, strict=True))
    return site.emit(site.primitive, *given, **site.params) if changed else None


def _shorter(site: Site, x: Operand) -> Operand:
    """Return the operand before its broadcast, or the number that all its elements equal."""
    if x.aval.shape == ():
        return x
    value = _number(site, x)
    if value is not None:
        return Literal(value)
    repeated: Equation | None = site.made(x, broadcast_to_p)
    return x if repeated is None else repeated.operands[0]


TABLE: dict[Primitive, tuple[Callable[[Site], Operand | None], ...]] = {
    mul_p: (_times,),
    div_p: (_divided,),
    add_p: (_plus,),
    sub_p: (_minus,),
    neg_p: (_negative,),
    power_p: (_power,),
    select_p: (_selected,),
    cast_p: (_cast,),
    copy_p: (_copied,),
    reshape_p: (_reshaped,),
    transpose_p: (_transposed,),
    broadcast_to_p: (_broadcast,),
}

RULES.update(TABLE)
ELEMENTWISE_RULES.append(_unrepeated)
