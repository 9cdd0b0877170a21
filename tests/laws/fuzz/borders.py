"""Calls of distributions and special functions at the borders of their arguments, in each layout, beside SciPy's.

Arguments are 0, 1, infinities, NaN, tiny and huge numbers; Python's numbers, NumPy's, arrays without axes, views,
Fortran order, read-only and empty arrays, float32 and integers beside float64. Value, dtype and shape are SciPy's.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import scipy.special
import scipy.stats

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError, UnsupportedFunctionError
from tests.laws.fuzz.check import Report

_ENDS = ("0.0", "1.0", "-1.0", "np.inf", "-np.inf", "np.nan", "-0.0", "0.999999")
_POINTS = (*_ENDS, "0.5", "2.0", "3.0", "40.0", "-40.0", "1e-300", "1e300", "1e-8")
_PARAMETERS = ("0.5", "2.0", "5.0", "0.3", "1.0", "0.5", "2.0", "30.0", "0.0", "-1.0", "np.inf", "np.nan", "1e-8")
_SCALES = ("1.0", "2.0", "0.0", "np.inf", "np.float32(2.0)", "np.array(3.0)")
# A number in other forms.
_FORMS = (
    "{0}",
    "np.float64({0})",
    "np.float32({0})",
    "np.array({0})",
    "np.array([{0}, 0.5])",
    "np.array([{0}, 0.5], np.float32)",
    "np.asfortranarray([[{0}, 0.5], [0.3, {0}]])",
    "np.broadcast_to(np.float64({0}), (2,))",
    "np.array([0.25, {0}])[::-1]",
    "np.repeat(np.array([{0}, 0.75]), 2)[::2]",
    "np.zeros((0, 2))",
)
_WHOLE = ("{0}", "np.array({0})", "np.array([{0}], np.int8)", "np.int32({0})")
_METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
# A logarithm of SciPy's is infinite where the number underflows, or is the difference of 1 and a number near 1.
_UNDERFLOW, _ROUNDED, _TINY = -300.0, -34.0, 1e-7
# SciPy's have fewer digits: differences of 1 and numbers near 1 (mpmath has the library's values).
_INEXACT = {("skewnorm", "logcdf"): 2e-3, ("skewnorm", "logsf"): 2e-3, ("exponweib", "logsf"): 2e-3}


def _distributions() -> dict[str, bool]:
    """Return the names of the distributions that SciPy has too, and which are discrete."""
    kinds = {name: getattr(scipy.stats, name, None) for name in fg.scipy.stats.__all__}
    classes = scipy.stats.rv_continuous, scipy.stats.rv_discrete
    return {name: isinstance(d, scipy.stats.rv_discrete) for name, d in kinds.items() if isinstance(d, classes)}


DISTRIBUTIONS = _distributions()
# The special functions of one result.
SPECIALS = sorted(
    name
    for name in fg.scipy.special.__all__
    if isinstance(f := getattr(scipy.special, name, None), np.ufunc) and f.nout == 1
)


@dataclass(frozen=True)
class Call:
    """A method of a distribution, or a special function, and its arguments, as text.

    Args:
        owner: the distribution; empty for a special function.
        method: the method, or the special function.
        arguments: the arguments.
        scale: the argument of that name; empty for none.
        seed: the seed.
    """

    owner: str
    method: str
    arguments: tuple[str, ...]
    scale: str
    seed: int

    def values(self) -> list[Any]:
        return [eval(text, {"np": np}) for text in self.arguments]

    def function(self, scipys: Any) -> Any:
        """Return the function of SciPy, or that of another package with the same modules; ``None`` if it has none."""
        owner = getattr(scipys.stats, self.owner) if self.owner else scipys.special
        return getattr(owner, self.method) if hasattr(owner, self.method) else None

    def run(self, function: Any, arguments: Any) -> Any:
        options = {"scale": eval(self.scale, {"np": np})} if self.scale else {}
        return function(*arguments, **options)

    def text(self) -> str:
        """Return the call as a program to paste."""
        options = f", scale={self.scale}" if self.scale else ""
        owner = f"stats.{self.owner}" if self.owner else "special"
        called = f"{owner}.{self.method}({', '.join(self.arguments)}{options})"
        return f"import numpy as np, scipy, funcgrad as fg\nprint(fg.scipy.{called}, scipy.{called})"


def call_of(seed: int) -> Call:
    """Return the call of a seed."""
    rng = Random(seed)
    name = rng.choice(sorted(DISTRIBUTIONS))
    discrete = DISTRIBUTIONS[name]
    method = rng.choice(_METHODS)
    first = rng.choice(_POINTS)
    whole = rng.random() < 0.15
    point = rng.choice(_WHOLE).format(rng.randint(-2, 5)) if whole else rng.choice(_FORMS).format(first)
    shapes = []
    for _ in range(getattr(scipy.stats, name).numargs):
        integer = rng.random() < 0.2
        form = rng.choice(_WHOLE) if integer else rng.choice(_FORMS[:5])
        shapes.append(form.format(rng.randint(0, 5) if integer else rng.choice(_PARAMETERS)))
    scale = rng.choice(_SCALES) if rng.random() < 0.3 and not discrete else ""
    return Call(name, method.replace("pdf", "pmf") if discrete else method, (point, *shapes), scale, seed)


def special_of(seed: int) -> Call:
    """Return the call of a special function of a seed."""
    rng = Random(seed)
    name = rng.choice(SPECIALS)
    arguments = []
    for _ in range(getattr(scipy.special, name).nin):
        whole = rng.random() < 0.25
        form = rng.choice(_WHOLE if whole else _FORMS)
        arguments.append(form.format(rng.randint(-3, 6) if whole else rng.choice(_POINTS)))
    return Call("", name, tuple(arguments), "", seed)


def findings(call: Call, report: Report) -> list[str]:
    """Return how the call differs from SciPy's: eagerly, traced, and compiled."""
    report.programs += 1
    theirs, ours = call.function(scipy), call.function(fg.scipy)
    # The infinite power of a probability that SciPy rounds to 1 is 0.
    if ours is None or (call.owner == "exponweib" and "np.inf" in call.arguments[1]):
        return []
    if call.method == "hyp1f1" and any(large in "".join(call.arguments) for large in ("1e300", "inf")):
        # SciPy's sums a series for minutes.
        return []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arguments = call.values()
        try:
            expected = call.run(theirs, arguments)
        except (TypeError, ValueError):
            return []
        floats = [i for i, x in enumerate(arguments) if np.asarray(x).dtype.kind == "f"]

        def of_floats(*xs: Any) -> Any:
            return call.run(ours, [xs[floats.index(i)] if i in floats else x for i, x in enumerate(arguments)])

        of_all = lambda *xs: call.run(ours, xs)
        ways: dict[str, Any] = {"eager": lambda: of_all(*arguments)}
        ways["numpy"] = lambda: fg.jit(of_all, engine="numpy")(*arguments)
        if floats:
            ways["vjp"] = lambda: fg.vjp(of_floats, *[arguments[i] for i in floats])[0]
        if call.seed % 12 == 0:
            ways["xla"] = lambda: fg.jit(of_all)(*arguments)
        return [
            f"{way}: {what}" for way, run in ways.items() for what in _compared(call, run, arguments, expected, report)
        ]


def _compared(call: Call, run: Any, arguments: list[Any], expected: Any, report: Report) -> list[str]:
    report.checks["borders"] += 1
    try:
        y = run()
    except (NotDifferentiableError, UnsupportedFunctionError):
        return []
    except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
        return [f"raised {type(error).__name__}: {error}"]
    y, x = np.asarray(y), np.asarray(expected)
    if (y.shape, y.dtype) != (x.shape, x.dtype):
        return [f"type: {y.dtype}{y.shape}, SciPy's {x.dtype}{x.shape}"]
    y, x = y.astype(float), x.astype(float)
    narrow = "float32" in f"{call.arguments}{call.scale}"
    # SciPy computes parts of some formulas in the precision of each argument: float16 for int8.
    tolerance = 4e-3 if any(np.asarray(a).dtype.itemsize < 4 for a in arguments) else 1e-4 if narrow else 1e-7
    tolerance = max(tolerance, _INEXACT.get((call.owner, call.method), 0.0))
    # Ours may have a number where SciPy has NaN, or an infinity because a number overflows. NaN is no wrong number.
    least = _ROUNDED if call.method in ("logcdf", "logsf") else _UNDERFLOW
    over = np.isinf(x) & (y < least) & call.method.startswith("log")
    over |= np.isinf(x) & (abs(y) > -_UNDERFLOW) & call.method.endswith(("ppf", "isf"))
    # The inverse of 1 - q.
    over |= np.isinf(x) & (call.method == "isf") & (np.asarray(arguments[0]) < _TINY)
    # SciPy squares the quotient of its arguments, which overflows.
    over |= np.isinf(x) & (call.method == "pseudo_huber")
    better = np.isnan(x) | np.isnan(y) | over
    same = (y == x) | np.isclose(y, x, rtol=tolerance, atol=tolerance)
    return [] if (same | better).all() else [f"value: {y}, SciPy's {x}"]
