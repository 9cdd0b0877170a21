"""The common part of all distributions: arguments, location and scale, support, logarithms, tails, frozen forms.

A distribution is one record of formulas for location 0 and scale 1. Outside of its support the density is 0, with a
derivative of 0: the formula is asked at a point of the support there, so that no NaN comes through the branch that is
not taken. Parameters that are not allowed give NaN, as in SciPy; so do their derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import Tracer, is_engine_value
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, dtype_of
from funcgrad.scipy.special import xlogy

scipy_stats = LazyModule("scipy.stats")

Formula = Callable[..., Any]

_FLOAT = np.dtype(float)
_ARRAY = np.ndarray
_SHORT = 4096


def number(x: ArrayLike) -> Array:
    """Return an argument in double precision, in which SciPy's distributions compute."""
    kind = type(x)
    if kind is _ARRAY and x.dtype is _FLOAT:
        return x
    if kind is float or kind is int:
        # Python's own numbers would raise when divided by 0.
        return np.float64(x)
    x = as_value(x)
    if dtype_of(x).kind == "c":
        raise UnsupportedFunctionError(
            f"scipy.stats: an argument is {dtype_of(x)}; distributions are of real numbers. Pass the real part."
        )
    return cast(x, _FLOAT)


def never(condition: ArrayLike) -> bool:
    """Return whether a condition is known to be False everywhere, so that no selection is needed."""
    if condition is False:
        return True
    if condition is True or isinstance(condition, Tracer) or is_engine_value(condition):
        return False
    return not condition.any()


def endless(x: ArrayLike) -> ArrayLike:
    """Return a mask of infinite points; ``False`` if there are none."""
    if type(x) is _ARRAY and x.size < _SHORT:
        # A sum of squares takes a quarter of the time; for larger arrays BLAS would start threads.
        square: Any = np.vdot(x, x)
        if math.isfinite(square):
            return False
    found = abs(x) == math.inf
    return False if never(found) else found


def choose(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> ArrayLike:
    """Return ``a`` where the condition holds, else ``b``; one of them may be a Python number."""
    return b if never(condition) else select(condition, a, b)


def above(x: ArrayLike, least: float, value: Formula, otherwise: float) -> Array:
    """Return ``value`` for points above ``least``, else ``otherwise``."""
    inside = x > least
    return select(inside, value(select(inside, x, least + 1)), otherwise)


def positive(*shapes: Any) -> ArrayLike:
    """Return whether all parameters are positive, the domain of most parameters."""
    found: Any = True
    for each in shapes:
        found = found & (each > 0)
    return found


class Distribution:
    """The common base of continuous and discrete distributions.

    Args:
        name: SciPy's.
        shapes: the names of the shape parameters, space separated.
        domain: the condition under which these are allowed.
        support: the first and the last point, numbers or a function of the shape parameters.
        formulas: by their names the functions of ``(x, *shapes)`` that are known; the others are made of these. The
            density is a product ``base**exponent ... exp(rest)``: ``powers`` returns the pairs of a base, which may be
            0, and an exponent, and ``rest`` the other factor's logarithm. ``inside`` returns arguments with no base 0.
    """

    options: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        shapes: str = "",
        *,
        domain: Formula = positive,
        support: tuple[float, float] | Formula = (-math.inf, math.inf),
        **formulas: Formula | float,
    ) -> None:
        self.name = name
        self.shapes = tuple(shapes.split())
        self._domain = domain
        self._support = support
        self._formulas: dict[str, Any] = formulas

    def __repr__(self) -> str:
        return f"<funcgrad.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Fix the parameters: the methods of the result take only points."""
        self._parameters("__call__", args, kwargs)
        return Frozen(self, args, kwargs)

    freeze = __call__

    def _parameters(self, method: str, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        """Return shape parameters, then location (and scale), from the arguments after the point."""
        names = (*self.shapes, *self.options)
        found: list[Any] = list(args)
        if len(args) > len(names):
            self._refuse_arguments(method, f"{len(args)} parameters were given")
        for name in names[len(args) :]:
            if name in kwargs:
                found.append(kwargs[name])
            elif name in self.options:
                found.append(None)
            else:
                self._refuse_arguments(method, f"{name} is missing")
        if len(kwargs) > sum(each in kwargs for each in names[len(args) :]):
            extra = next(each for each in kwargs if each not in names[len(args) :])
            self._refuse_arguments(method, f"{extra} is unknown, or given twice")
        return [None if x is None else number(x) for x in found]

    def _refuse_arguments(self, method: str, what: str) -> NoReturn:
        shapes = "".join(f"{each}, " for each in self.shapes)
        rest = ", ".join(f"{each}={0 if each == 'loc' else 1}" for each in self.options)
        raise TypeError(f"scipy.stats.{self.name}.{method}: {what}. After the point it takes ({shapes}{rest}).")

    def _ends(self, shapes: Sequence[Any]) -> tuple[Any, Any]:
        return self._support(*shapes) if callable(self._support) else self._support

    def _formula(self, name: str) -> Any:
        """Return a formula by its name, derived from others if necessary; ``None`` if that is not possible."""
        known = self._formulas
        if name in known:
            return known[name]
        if name in _REST and name[3:] in known and _REST[name] in known:
            part, rest = known[name[3:]], known[_REST[name]]
            return lambda x, *shapes: log_of_part(part(x, *shapes), rest(x, *shapes))
        if "powers" in known and name in {"logpdf", "logpmf", "pdf", "pmf"}:
            log = known.get(f"log{name[-3:]}", self._log_of_product)
            return log if name.startswith("log") else lambda *point: self._product(log, point)
        for source, made in _MADE[name]:
            if source in known:
                inner = known[source]
                return lambda x, *shapes: made(inner(x, *shapes))
        return None

    def _log_of_product(self, *point: Any) -> Any:
        y = self._formulas["rest"](*point)
        for base, exponent in self._formulas["powers"](*point):
            y = y + xlogy(exponent, base)
        return y

    def _product(self, log: Formula, point: Sequence[Any]) -> Any:
        """Return a density whose logarithm is ``log``; where it is 0, as the product, which has a derivative there."""
        powers, zero = self._formulas["powers"], False
        for base, exponent in powers(*point):
            zero = zero | ((base == 0) & (exponent > 0))
        if never(zero):
            return fnp.exp(log(*point))
        inside = self._inside(*point)
        pairs = list(zip(point, inside, strict=True))
        y = fnp.exp(log(*[x if x is safe else select(zero, safe, x) for x, safe in pairs]))
        ends = [x if x is safe else select(zero, x, safe) for x, safe in pairs]
        product = fnp.exp(self._formulas["rest"](*ends))
        for base, exponent in powers(*ends):
            product = product * fnp.power(base, exponent)
        return select(zero, product, y)

    def _inside(self, x: Any, *shapes: Any) -> Sequence[Any]:
        """Return arguments of the density at which no base of its product is 0."""
        return (
            self._formulas["inside"](x, *shapes)
            if "inside" in self._formulas
            else (within(*self._ends(shapes)), *shapes)
        )

    def _needed(self, name: str) -> Any:
        formula = self._formula(name)
        if formula is None:
            have = ", ".join(each for each in _METHODS if each in self._formulas or self._formula(each) is not None)
            raise UnsupportedFunctionError(
                f"scipy.stats.{self.name}.{name}: funcgrad has no formula for it. It has {have}. Use these, or call "
                "SciPy's method by fg.call_numpy, inside a function with a rule of its own (fg.custom_jvp)."
            )
        return formula

    def _moment(self, name: str, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, list[Any], Any]:
        """Return a standard moment, the location and scale, and a factor that is NaN for invalid parameters."""
        formula = self._needed(name)
        found = self._parameters(name, args, kwargs)
        count = len(self.shapes)
        shapes = found[:count]
        y = formula(*shapes) if callable(formula) else np.float64(formula)
        rest = found[count:]
        allowed = self._domain(*shapes)
        for scale in rest[1:]:
            allowed = allowed & (True if scale is None else scale > 0)
        return y * unless(allowed), rest, allowed

    def mean(self, *args: Any, **kwargs: Any) -> Array:
        """Return the mean."""
        y, (loc, *scale), _ = self._moment("mean", args, kwargs)
        return _shifted(y, loc, *scale)

    def var(self, *args: Any, **kwargs: Any) -> Array:
        """Return the variance."""
        y, (loc, *scale), _ = self._moment("var", args, kwargs)
        y = _of_shape_with(y, loc)
        return y if not scale or scale[0] is None else y * (scale[0] * scale[0])

    def std(self, *args: Any, **kwargs: Any) -> Array:
        """Return the standard deviation."""
        return fnp.sqrt(self.var(*args, **kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Array:
        """Return the differential entropy, or the entropy of a discrete distribution."""
        y, (loc, *scale), _ = self._moment("entropy", args, kwargs)
        y = _of_shape_with(y, loc)
        return y if not scale or scale[0] is None else y + fnp.log(scale[0])

    def stats(self, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
        """Return the mean ('m'), the variance ('v') or both."""
        if len(args) == len(self.shapes) + len(self.options) + 1:
            # SciPy takes the moments after the scale, too.
            args, moments = args[:-1], args[-1]
        if not moments or set(moments) - {"m", "v"}:
            raise UnsupportedFunctionError(
                f"scipy.stats.{self.name}.stats: the moments {moments!r} were asked for; there are 'm', the mean, and "
                "'v', the variance. Pass these."
            )
        found = [self.mean(*args, **kwargs) if each == "m" else self.var(*args, **kwargs) for each in moments]
        return found[0] if len(found) == 1 else tuple(found)

    def __getattr__(self, name: str) -> Any:
        refuse_method(self, name)

    def support(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the first and the last point of the support; NaN for parameters that are not allowed.

        Compiled programs do not know whether they are allowed, so the ends are floats there, never integers.
        """
        if not any(isinstance(x, Tracer) or is_engine_value(x) for x in (*args, *kwargs.values())):
            # SciPy's are integers for some of its discrete distributions.
            return getattr(scipy_stats, self.name).support(*args, **kwargs)
        found = self._parameters("support", args, kwargs)
        count = len(self.shapes)
        ends, rest = self._ends(found[:count]), found[count:]
        allowed = self._domain(*found[:count])
        for scale in rest[1:]:
            allowed = allowed & (True if scale is None else scale > 0)
        shape = np.broadcast_shapes(*[np.shape(x) for x in found if x is not None])
        fixed = [self._end(x) if type(x) is float else x for x in ends]
        a, b = [fnp.broadcast_to(_shifted(x, *rest), shape) for x in fixed]
        if allowed is True or never(fnp.logical_not(allowed)):
            return a, b
        return fnp.where(allowed, a, math.nan), fnp.where(allowed, b, math.nan)

    # The type of a constant end of the support.
    _end: Callable[[float], np.number] = np.float64


INSTEAD = {
    ".rvs": "samples are in funcgrad.random. Draw them there by a key (fg.random.normal, gamma, ...), or as ppf of "
    "uniform numbers, which has derivatives.",
    ".fit": "a fit is a search. Minimise -np.sum(logpdf(x, *p)) with scipy.optimize.minimize(fg.value_and_grad(f), p0, "
    "jac=True).",
    ".expect": "an integral of any function. Use fg.scipy.integrate, or the mean over samples.",
    **dict.fromkeys(
        ("kstest", "ks_1samp"),
        "the p-value comes from SciPy's code in C. The statistic of a sorted sample x is "
        "np.max(np.abs(dist.cdf(x)[:, None] - (i[:, None] - [0, 1]) / n)) with i = 1, ..., n.",
    ),
    ".moment": "moments of any order. Use mean, var and std.",
}


def refuse_method(dist: Any, name: str) -> NoReturn:
    """Raise an error that names a replacement for a method of SciPy's."""
    if name.startswith("_"):
        raise AttributeError(name)
    remedy = INSTEAD.get(f".{name}", "See its dir.")
    raise AttributeError(f"{dist!r} has no {name}: {remedy}")


def log_of_part(part: ArrayLike, rest: ArrayLike) -> Array:
    """Return the logarithm of a probability, from that of the complement if that is the smaller part."""
    greater = part > 0.5
    return select(greater, fnp.log1p(-select(greater, rest, 0.5)), fnp.log(select(greater, 0.5, part)))


def log_of_rest(log_part: ArrayLike) -> Array:
    """Return ``log(1 - exp(y))``: the logarithm of the complement's probability."""
    little = log_part < -0.7
    far = fnp.log1p(-fnp.exp(select(little, log_part, -1.0)))
    return select(little, far, fnp.log(-fnp.expm1(select(little, -0.5, log_part))))


# The complement of each logarithm of a probability.
_REST = {"logcdf": "sf", "logsf": "cdf"}
# The ways to derive each function from another one, in the order in which they are tried.
_MADE: dict[str, tuple[tuple[str, Formula], ...]] = {
    "logpdf": (("pdf", fnp.log),),
    "pdf": (("logpdf", fnp.exp),),
    "logpmf": (("pmf", fnp.log),),
    "pmf": (("logpmf", fnp.exp),),
    "cdf": (("logcdf", fnp.exp), ("logsf", lambda y: -fnp.expm1(y)), ("sf", lambda y: 1 - y)),
    "sf": (("logsf", fnp.exp), ("logcdf", lambda y: -fnp.expm1(y)), ("cdf", lambda y: 1 - y)),
    "logcdf": (("cdf", fnp.log), ("logsf", log_of_rest), ("sf", lambda y: fnp.log1p(-y))),
    "logsf": (("sf", fnp.log), ("logcdf", log_of_rest), ("cdf", lambda y: fnp.log1p(-y))),
    "ppf": (),
    "isf": (),
    "mean": (),
    "var": (),
    "entropy": (),
}
_METHODS = ("logpdf", "pdf", "logpmf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "mean", "var", "entropy")


def _of_shape_with(y: ArrayLike, loc: ArrayLike) -> Array:
    """Return a moment that does not depend on the location, repeated for each of several locations."""
    return (
        y
        if np.shape(loc) in {(), np.shape(y)}
        else fnp.broadcast_to(y, np.broadcast_shapes(np.shape(y), np.shape(loc)))
    )


def _shifted(z: ArrayLike, loc: ArrayLike, scale: ArrayLike = None) -> Array:
    z = z if scale is None else z * scale
    return z if loc is None else z + loc


def unless(allowed: ArrayLike) -> ArrayLike:
    """Return a factor that is NaN for invalid parameters, and 1 elsewhere."""
    wrong = fnp.logical_not(allowed) if type(allowed) is not bool else not allowed
    return 1.0 if never(wrong) else fnp.where(wrong, math.nan, 1.0)


def within(a: ArrayLike, b: ArrayLike) -> ArrayLike:
    """Return a point between the ends of a support, which may be infinite."""
    if issubclass(type(a), float) and issubclass(type(b), float):
        return (a + b) / 2 if math.isfinite(a + b) else a + 1 if a > -math.inf else b - 1 if b < math.inf else 0.0
    a, b = [end if issubclass(type(end), float) else stop_gradient_p(end) for end in (a, b)]
    low, high = a > -math.inf, b < math.inf
    middle = (fnp.where(low, a, 0.0) + fnp.where(high, b, 0.0)) / 2
    return fnp.where(low & high, middle, fnp.where(low, a + 1.0, fnp.where(high, b - 1.0, 0.0)))


class Frozen:
    """A distribution with fixed parameters: its methods take only points, as in SciPy.

    Args:
        dist: the distribution.
        args: its parameters by position.
        kwds: its parameters by name.
    """

    def __init__(self, dist: Any, args: tuple, kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwds

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(type(self.dist), name):
            refuse_method(self.dist, name)
        method = getattr(self.dist, name)
        return lambda *points, **options: method(*points, *self.args, **options, **self.kwds)

    def __repr__(self) -> str:
        return f"<frozen {self.dist!r}>"
