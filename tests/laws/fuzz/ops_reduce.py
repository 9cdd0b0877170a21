"""Samplers of reductions, cumulative operations, sorts and contractions, and of linear algebra."""

from __future__ import annotations

import string

import numpy as np

from tests.laws.fuzz.draw import Draw, UnfitError, is_inexact, is_partly_nan, is_real
from tests.laws.fuzz.table import op, words

REDUCTIONS = words(
    """
    sum sum mean prod max min var std ptp all any argmax argmin median nansum nanmean nanmax nanmin nanprod
    nanvar nanstd
    """
)


@op("reduction", 7)
def _reduction(d: Draw) -> str:
    x = d.name()
    name = d.rng.choice(REDUCTIONS)
    axes = d.axes(d.value(x))
    axis = axes[0] if name.startswith("arg") and isinstance(axes, tuple) and axes else axes
    keep = d.one("", "", ", keepdims=True")
    extra = ""
    if name in {"var", "std", "nanvar", "nanstd"}:
        extra = d.one("", ", ddof=1", ", correction=1")
    if name in {"sum", "prod", "max", "min"} and d.chance(0.2):
        extra = f", initial={d.number()}"
    if name in {"sum", "prod", "mean", "var", "any"} and d.chance(0.15):
        extra += f", where={x} > {d.one('0', '-1', '0.5')}"
    if name in {"sum", "prod", "mean"} and d.chance(0.1):
        extra += f", dtype={d.one('np.float64', 'np.float32', 'float', 'np.complex128')}"
    if name.startswith("nan") or name in {"median", "ptp"} or d.chance(0.6):
        return f"np.{name}({x}, axis={axis}{keep}{extra})"
    return f"{x}.{name}(axis={axis}{keep}{extra})"


@op("extremum beside NaN", 12)
def _extremum_beside_nan(d: Draw) -> str:
    """Reductions that skip NaN or must keep it. Few programs contain NaN, so they are drawn more often."""
    x = d.array(1, lambda x: is_partly_nan(x) and is_real(x))
    axes = d.axes(d.value(x))
    name = d.one("max", "max", "min", "min", "ptp", "ptp", "median", "nanmax", "nanmin")
    of_axes = f"np.{name}({x}, axis={axes}{d.one('', ', keepdims=True')})"
    return d.one(
        of_axes,
        of_axes,
        f"{x}.{d.one('max', 'min', 'argmax', 'argmin')}()",
        f"np.{d.one('maximum', 'minimum', 'fmax', 'fmin')}.reduce({x}, axis={axes})",
        f"np.linalg.norm({x}, {d.one('np.inf', '-np.inf')}, axis={d.axis(d.value(x))})",
        f"np.{d.one('maximum', 'minimum', 'fmax', 'fmin')}({x}, {d.beside(x)})",
    )


@op("cumulative", 1)
def _cumulative(d: Draw) -> str:
    x = d.name()
    v = d.value(x)
    axis = d.one(None, d.axis(v)) if v.ndim else None
    name = d.one("cumsum", "cumprod", "nancumsum", "nancumprod")
    return d.one(
        f"np.{name}({x}, axis={axis})",
        f"{x}.{d.one('cumsum', 'cumprod')}(axis={axis})",
        f"np.cumulative_sum({x}, axis={axis}, include_initial={d.chance(0.5)})",
    )


@op("difference", 0.8)
def _difference(d: Draw) -> str:
    x = d.array()
    axis = d.axis(d.value(x))
    return d.one(
        f"np.diff({x}, axis={axis})",
        f"np.diff({x}, n=2, axis={axis})",
        f"np.diff({x}, axis=0, prepend={d.number()})",
        f"np.ediff1d({x})",
        f"np.ediff1d({x}, to_begin={d.number()})",
        f"np.gradient({x}, axis={axis})",
        f"np.trapezoid({x}, axis={axis})",
        f"np.trapezoid({x}, dx={d.number()}, axis={axis})",
    )


@op("average", 0.4)
def _average(d: Draw) -> str:
    x = d.array()
    return f"np.average({x}, weights={d.one(x, 'np.abs(' + x + ') + 1', 'None')})"


@op("sort", 1)
def _sort(d: Draw) -> str:
    x = d.array()
    v = d.value(x)
    axis = d.one(d.axis(v), None)
    return d.one(
        f"np.sort({x}, axis={axis})",
        f"np.argsort({x}, axis={axis}, kind='stable')",
        f"np.sort({x}, axis={axis})[..., ::-1]",
        f"np.sort(np.partition({x}, 0, axis=0), axis=0)",
    )


@op("quantile", 0.6)
def _quantile(d: Draw) -> str:
    x = d.array(1, is_real)
    method = d.one(
        "", "", ", method='nearest'", ", method='lower'", ", method='midpoint'", ", method='hazen'", ", method='higher'"
    )
    keep = d.one("", ", keepdims=True")
    axis = d.axes(d.value(x))
    q = d.one("0.5", "0.25", "[0.1, 0.9]", "1.0", "0.0", "0.4")
    return d.one(f"np.quantile({x}, {q}, axis={axis}{method}{keep})", f"np.percentile({x}, 40, axis={axis}{method})")


@op("searchsorted", 0.3)
def _searchsorted(d: Draw) -> str:
    x = d.name(is_real)
    return f"np.searchsorted({d.one('[-1.0, 0.0, 1.0]', '[-1, 0, 2]')}, {x}{d.one('', ', side=' + repr('right'))})"


def _plainly_multiplied(*operands: np.ndarray) -> bool:
    """Return whether BLAS multiplies plainly. For floats it may give 0 for 0 times NaN, and 0 for 0.0 + -0.0."""
    kinds = {x.dtype.kind for x in operands}
    return kinds <= set("biu") or all(bool(np.all(np.isfinite(x) & (x != 0))) for x in operands)


@op("product", 3)
def _product(d: Draw) -> str:
    if d.style.specials:
        # BLAS may or may not leave out products with zero, those with infinity included.
        raise UnfitError
    x = d.name()
    v = d.value(x)
    if not v.ndim or d.chance(0.1):
        other = d.one(d.number(), d.name())
    else:
        n = v.shape[-1]
        other = d.one(
            d.name(lambda y: y.ndim > 0 and n == y.shape[max(y.ndim - 2, 0)]), d.constant((n,)), d.constant((n, 2))
        )
    name = d.one(
        "dot", "dot", "matmul", "inner", "outer", "vdot", "kron", "tensordot0", "vecdot", "tensordot1", "cross"
    )
    pair = f"{x}, {other}" if d.chance(0.8) else f"{other}, {x}"
    if name == "tensordot0" and not _plainly_multiplied(v, d.text_value(other)):
        raise UnfitError
    if name.startswith("tensordot"):
        return f"np.tensordot({pair}, axes={name[-1]})"
    return d.one(f"np.{name}({pair})", f"np.{name}({pair})", f"{x} @ {other}")


@op("vecdot along an axis", 0.3)
def _vecdot_along_an_axis(d: Draw) -> str:
    x = d.array(2, lambda x: x.dtype.kind in "fc")
    return f"np.vecdot({x}, {x}, axis={d.axis(d.value(x))}{d.one('', ', keepdims=True')})"


@op("product with a number", 1)
def _product_with_a_number(d: Draw) -> str:
    """An array that NumPy makes from a number is not weak. This shows most beside narrow dtypes."""
    x = d.name(lambda x: x.dtype.kind in "buif" and x.dtype.itemsize < 8) if d.chance(0.8) else d.name()
    pair = [x, d.number()]
    d.rng.shuffle(pair)
    name = d.one("dot", "dot", "inner", "vdot", "kron", "outer", "tensordot", "multiply.outer", "einsum")
    if name in {"dot", "inner", "vdot", "tensordot"} and not _plainly_multiplied(*map(d.text_value, pair)):
        raise UnfitError
    if name == "einsum":
        return f"np.einsum(',...->...', {d.number()}, {x})"
    return f"np.{name}({', '.join(pair)}{', axes=0' if name == 'tensordot' else ''})"


@op("einsum", 1)
def _einsum(d: Draw) -> str:
    # The order of the sums decides where infinities meet zeros, so there is no single value.
    names = [d.array(0, lambda x: bool(np.all(np.isfinite(x))), most=3) for _ in range(d.integer(1, 2))]
    lengths: dict[str, int] = {}
    terms = []
    for name in names:
        term = ""
        for n in d.value(name).shape:
            known = [c for c, m in lengths.items() if m == n and (c not in term or d.chance(0.2))]
            c = d.rng.choice(known) if known and d.chance(0.7) else string.ascii_lowercase[len(lengths)]
            lengths[c] = n
            term += c
        terms.append(term)
    out = "".join(d.rng.sample(list(lengths), d.integer(0, min(2, len(lengths)))))
    # NumPy's value for bools and mixed widths depends on the order of the products.
    wide = all(d.value(name).dtype == float for name in names)
    extra = d.one("", ", optimize=True") if wide else ""
    if d.chance(0.15):
        terms, names = [*terms, ""], [*names, d.number()]
    return f"np.einsum('{','.join(terms)}->{out}', {', '.join(names)}{extra})"


@op("trace", 0.4)
def _trace(d: Draw) -> str:
    x = d.array(2)
    return d.one(
        f"np.trace({x})",
        f"np.diagonal({x}, {d.integer(-1, 1)})",
        f"{x}.trace()",
        f"{x}.diagonal()",
        f"np.linalg.trace({x})",
    )


def _square(d: Draw) -> str:
    """Only finite numbers: LAPACK's order of operations decides the values for others."""
    return d.array(
        2, lambda x: is_inexact(x) and x.shape[-1] == x.shape[-2] and x.shape[-1] > 0 and bool(np.all(np.isfinite(x)))
    )


@op("linalg of one", 1.5)
def _linalg(d: Draw) -> str:
    x = _square(d)
    regular = d.one(x, f"({x} + 3 * np.eye({d.value(x).shape[-1]}))")
    positive = f"({x} @ np.conj(np.swapaxes({x}, -1, -2)) + np.eye({d.value(x).shape[-1]}))"
    return d.one(
        f"np.linalg.inv({regular})",
        f"np.linalg.det({regular})",
        f"np.linalg.slogdet({regular})[{d.integer(0, 1)}]",
        f"np.linalg.cholesky({positive})",
        f"np.linalg.eigvalsh({positive})",
        f"np.linalg.eigh({positive})[0]",
        f"np.linalg.matrix_power({regular}, {d.integer(-1, 3)})",
        f"np.linalg.svd({x}, compute_uv=False)",
        f"np.linalg.pinv({regular})",
        f"np.abs(np.linalg.qr({regular})[1])",
        f"np.linalg.svdvals({x})",
        f"np.linalg.cond({regular})",
    )


@op("one triangle", 0.8)
def _one_triangle(d: Draw) -> str:
    """The values depend on one triangle, but the derivatives are those of a Hermitian matrix."""
    x = _square(d)
    return d.one(f"np.linalg.eigvalsh({x})", f"np.linalg.cholesky({x} + 4 * np.eye({d.value(x).shape[-1]}))")


@op("solve", 0.8)
def _solve(d: Draw) -> str:
    x = _square(d)
    n = d.value(x).shape[-1]
    right = d.one(d.constant((n,)), d.constant((n, 2)), d.name(lambda y: y.ndim in {1, 2} and y.shape[0] == n))
    return f"np.linalg.solve({x} + 3 * np.eye({n}), {right})"


@op("norm", 0.8)
def _norm(d: Draw) -> str:
    x = d.array()
    order = d.one("", "", ", 1", ", 2", ", np.inf", ", -np.inf", ", 3", ", 'fro'", ", 'nuc'", ", 0", ", ord=0.5")
    v = d.value(x)
    axis = d.one("", f", axis={d.axis(v)}", f", axis={d.axis(v)}, keepdims=True", ", axis=(0, 1)")
    return f"np.linalg.norm({x}{order}{axis})"
