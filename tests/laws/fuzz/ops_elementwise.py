"""Samplers of elementwise operations, of casts and of complex parts."""

from __future__ import annotations

import numpy as np

from tests.laws.fuzz.draw import Draw, UnfitError, is_bool, is_float, is_inexact, is_real
from tests.laws.fuzz.table import OPS, op, words

UNARY = words(
    """
    absolute negative positive exp expm1 exp2 log log1p log2 log10 sqrt square cbrt sin cos tan
    arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh fabs floor ceil trunc rint deg2rad
    rad2deg isnan isinf isfinite signbit logical_not conj real imag angle sinc i0 round around fix nan_to_num
    isreal iscomplex spacing invert
    """
)
SPECIAL = words(
    """
    expit logit gammaln gamma digamma erf erfc erfinv ndtr ndtri i0 i0e i1 i1e entr log_expit exp2 exp10
    expm1 log1p cbrt
    """
)
BINARY = words(
    """
    add subtract multiply divide true_divide power float_power maximum minimum fmax fmin arctan2 hypot
    logaddexp logaddexp2 copysign fmod remainder floor_divide heaviside less less_equal greater equal
    not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor isclose
    """
)
OPERATORS = words(
    """
    + - * * / ** // % < <= > >= == != & | ^ @
    """
)
NAMES = words(
    """
    bool int8 int32 int64 uint8 float16 float32 float64 complex64 complex128
    """
)


def _unary(name: str) -> None:
    @op(name, 0.35)
    def sample(d: Draw) -> str:
        x = d.name() if d.chance(0.95) else d.number()
        # The parts of Python's bools are Python ints.
        if x in {"True", "False"} or type(d.values.get(x)) is bool:
            raise UnfitError
        value = d.text_value(x)
        if name == "sinc" and value.dtype != object and np.any((value != 0) & (value == np.round(value))):
            # The exact value is 0, and rounding gives 1e-17. A quotient by it is not compared.
            raise UnfitError
        if name == "signbit" and is_float(value) and np.any(np.isnan(value)):
            # No standard defines the sign of NaN.
            raise UnfitError
        return f"np.{name}({x})"


for _name in UNARY:
    _unary(_name)


def _special(name: str) -> None:
    @op(f"special.{name}", 0.12)
    def sample(d: Draw) -> str:
        return f"special.{name}({d.name(is_real)})"


for _name in SPECIAL:
    _special(_name)


def _binary(name: str) -> None:
    @op(name, 0.35)
    def sample(d: Draw) -> str:
        x = d.name()
        pair = [x, d.beside(x)]
        d.rng.shuffle(pair)
        if name.startswith("logical") and any(d.text_value(y).dtype == object for y in pair):
            # For objects NumPy returns one of the operands, as Python's `or` does.
            raise UnfitError
        return f"np.{name}({', '.join(pair)})"


for _name in BINARY:
    _binary(_name)


@op("operator", 12)
def _operator(d: Draw) -> str:
    x = d.name()
    pair = [x, d.beside(x)]
    d.rng.shuffle(pair)
    return f"{pair[0]} {d.rng.choice(OPERATORS)} {pair[1]}"


@op("dtype of a ufunc", 0.4)
def _dtype_of_a_ufunc(d: Draw) -> str:
    """``dtype=`` is the dtype of the results. For a comparison it does not change the operands."""
    x = d.name(is_float)
    if d.text_value(x).dtype == object:
        raise UnfitError
    if d.chance(0.4):
        return f"np.{d.one('greater', 'less_equal', 'not_equal')}({x}, {d.one(x, d.number())}, dtype=bool)"
    dtype = d.one("dtype=np.float64", "dtype=np.float32", "dtype=np.float64, casting='safe'")
    if "safe" in dtype or "32" not in dtype or d.value(x).dtype.itemsize >= 4:
        return f"np.{d.one('add', 'multiply', 'maximum')}({x}, {x}, {dtype})"
    raise UnfitError


@op("two operators", 3)
def _two_operators(d: Draw) -> str:
    x = d.name()
    return f"({x} {d.one('+', '-', '*', '/')} {d.beside(x)}) {d.one('+', '-', '*', '**')} {d.beside(x)}"


@op("prefix", 1)
def _prefix(d: Draw) -> str:
    return f"{d.one('-', '+', '~', 'abs')}({d.name()})"


@op("divmod", 0.4)
def _divmod(d: Draw) -> str:
    x = d.name(is_real)
    return f"{d.one('np.divmod', 'divmod')}({x}, {d.beside(x)})[{d.integer(0, 1)}]"


@op("modf", 0.3)
def _modf(d: Draw) -> str:
    return f"np.{d.one('modf', 'frexp')}({d.name(is_float)})[{d.integer(0, 1)}]"


@op("ldexp", 0.2)
def _ldexp(d: Draw) -> str:
    return f"np.ldexp({d.name(is_float)}, {d.integer(-2, 3)})"


@op("shift", 0.3)
def _shift(d: Draw) -> str:
    return f"{d.name(lambda x: x.dtype.kind in 'bui')} {d.one('<<', '>>')} {d.one('1', '2', 'True', 'np.uint8(1)')}"


@op("where", 3)
def _where(d: Draw) -> str:
    x = d.name()
    condition = d.one(f"{x} > {d.number()}", f"{x} != 0", d.beside(x), f"np.isfinite({x})")
    return f"np.where({condition}, {d.beside(x)}, {d.one(x, d.beside(x), d.number())})"


@op("select", 0.6)
def _select(d: Draw) -> str:
    x = d.name()
    # NumPy looks for foreign arrays among conditions and choices, and ignores the default.
    default = d.one("", f", {d.number()}")
    return f"np.select([{x} > 0, {x} < -1], [{d.beside(x)}, {d.one(x, d.number())}]{default})"


@op("piecewise", 0.5)
def _piecewise(d: Draw) -> str:
    # The result for numbers beyond an integer dtype is not defined.
    x = d.name(is_float)
    parts = [
        d.one(
            "lambda t: t * t", "np.exp", "lambda t: np.where(t > 1, 2 * t, t)", d.one("1", "0.5", "-1", "2.5", "True")
        )
        for _ in range(2)
    ]
    return f"np.piecewise({x}, [{x} > 0], [{', '.join(parts)}])"


@op("choose", 0.3)
def _choose(d: Draw) -> str:
    x = d.name(lambda x: x.dtype.kind in "bi")
    return f"np.choose({x} % 2, [{d.beside(x)}, {d.beside(x)}]{d.one('', ', mode=' + repr('wrap'))})"


@op("clip", 1)
def _clip(d: Draw) -> str:
    x = d.name(is_real)
    low, high = d.one("None", d.number(), "-0.5", d.beside(x)), d.one("None", d.number(), "1", d.beside(x))
    bounds = [d.text_value(bound) for bound in (low, high)]
    if any(bound.dtype.kind == "c" and np.any(np.isnan(bound)) for bound in bounds):
        # NumPy chooses one of two loops by the strides. They differ in the parts of a complex NaN.
        raise UnfitError
    return d.one(f"np.clip({x}, {low}, {high})", f"{x}.clip({low}, {high})")


@op("nan_to_num", 0.3)
def _nan_to_num(d: Draw) -> str:
    return f"np.nan_to_num({d.name(is_inexact)}, nan={d.number()}, posinf=2.0, neginf={d.one('-1', '-1.0', 'None')})"


@op("round", 0.3)
def _round(d: Draw) -> str:
    x = d.name()
    return d.one(f"np.round({x}, {d.integer(-1, 2)})", f"{x}.round(1)", f"round({x}[0], 1)")


@op("astype", 1.5)
def _astype(d: Draw) -> str:
    name = d.rng.choice(NAMES)
    x = d.name(lambda x: name[0] in "fcb" or x.dtype.kind in "bui")
    dtype = d.one(f"np.{name if name != 'bool' else 'bool_'}", repr(name), "float" if "float" in name else repr(name))
    return d.one(f"{x}.astype({dtype})", f"np.astype({x}, {dtype})" if "np" in dtype else f"np.asarray({x}, {dtype})")


@op("ufunc dtype", 0.5)
def _ufunc_dtype(d: Draw) -> str:
    x = d.name()
    dtype = d.one("np.float64", "np.float32", "np.complex128", "float", "np.int64")
    return d.one(
        f"np.{d.one('add', 'multiply', 'subtract')}({x}, {d.beside(x)}, dtype={dtype})", f"np.sqrt({x}, dtype={dtype})"
    )


@op("ufunc outer", 0.4)
def _ufunc_outer(d: Draw) -> str:
    x = d.array(0, most=2)
    return f"np.{d.one('add', 'multiply', 'subtract', 'maximum', 'power')}.outer({x}, {d.one(d.name(), d.number())})"


@op("ufunc reduce", 0.5)
def _ufunc_reduce(d: Draw) -> str:
    x = d.array()
    name = d.one("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logaddexp")
    if d.chance(0.3):
        return f"np.{d.one('add', 'multiply')}.accumulate({x}, axis={d.axis(d.value(x))})"
    if name.startswith("logical") and d.value(x).dtype == object:
        # For objects NumPy returns one of them, as Python's `or` does.
        raise UnfitError
    return f"np.{name}.reduce({x}, axis={d.axes(d.value(x))})"


@op("interp", 0.3)
def _interp(d: Draw) -> str:
    n = d.integer(2, 4)
    ends = d.one("", "", f", left={d.number()}", f", right={d.number()}")
    points = d.one(d.constant((n,), "float64"), str([round(0.7 * i, 1) for i in range(n)]))
    return f"np.interp({d.name(is_real)}, [{', '.join(str(i - 1.0) for i in range(n))}], {points}{ends})"


@op("polygamma", 0.1)
def _polygamma(d: Draw) -> str:
    return f"special.polygamma({d.integer(0, 2)}, {d.name(is_float)})"


@op("xlogy", 0.4)
def _xlogy(d: Draw) -> str:
    x = d.name(is_real)
    return f"special.{d.one('xlogy', 'xlog1py', 'betaln')}({x}, {d.beside(x)})"


@op("logsumexp", 0.5)
def _logsumexp(d: Draw) -> str:
    x = d.array(1, is_float)
    return f"special.{d.one('logsumexp', 'softmax', 'log_softmax')}({x}, axis={d.one(None, d.axis(d.value(x)))})"


@op("special.of_large_parameters", 0.1)
def _of_large_parameters(d: Draw) -> str:
    size, x = d.one(1e4, 1e6, 1e8), f"np.tanh({d.name(is_float)})"
    width = size**-0.5
    if d.chance(0.5):
        return f"special.{d.one('betainc', 'betaincc')}({size}, {size}, 0.5 + {width} * {x})"
    return f"special.{d.one('gammainc', 'gammaincc')}({size}, {size} * (1 + {width} * {x}))"


@op("parts", 0.8)
def _parts(d: Draw) -> str:
    return f"{d.name()}.{d.one('real', 'imag', 'conj()', 'conjugate()')}"


@op("sign", 0.35)
def _sign(d: Draw) -> str:
    # The value for complex infinities is open: NaN here, and a direction in NumPy.
    return f"np.sign({d.name(lambda x: x.dtype.kind != 'c' or bool(np.all(np.isfinite(x))))})"


@op("reciprocal", 0.35)
def _reciprocal(d: Draw) -> str:
    return f"np.reciprocal({d.name(is_inexact)})"


@op("not", 0.2)
def _not(d: Draw) -> str:
    return f"~{d.name(is_bool)}"


assert OPS
