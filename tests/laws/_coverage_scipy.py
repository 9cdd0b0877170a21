"""A row for each public function of the modules of SciPy that `funcgrad.scipy` mirrors, also in `docs/coverage.md`.

A module joins by existing. Of each public function of SciPy's it is tried what ours does, and what SciPy's own name
does when it meets traced values; of distributions each method.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import operator
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
import funcgrad.scipy
from tests.laws._coverage_rows import REFUSALS, Row, check, derivative, functions, numbers, reason, stages

# All functions that exist here of this module are in one submodule.
_WITHIN = {"spatial": "spatial.distance"}
MODULES = tuple(
    sorted(
        f"scipy.{_WITHIN.get(info.name, info.name)}"
        for info in pkgutil.iter_modules(fg.scipy.__path__)
        if not info.name.startswith("_")
    )
)
HEAD = """## SciPy's functions

The tables list every public function of the modules that `funcgrad.scipy` mirrors. Each distribution has four rows at
most: its log density, log probability, distribution function and survival function. `funcgrad.scipy.stats` has its
other methods, too. `scipy.signal` and `scipy.interpolate` list only the functions that funcgrad has, without classes.

The column "own name" says where a call by SciPy's own name takes traced values: always, inside `fg.intercept()`, or
nowhere. If it says "nowhere", call the function by its name in `funcgrad.scipy`. An argument without a derivative rule
is refused, and the error names it.
"""
# Methods of distributions. SciPy finds moments and quantiles by integrals and by search, which takes minutes with
# traced values.
METHODS = ("logpdf", "logpmf", "cdf", "sf")

# The first function draws random numbers. The others print their internal errors.
_APART = ("clarkson_woodruff_transform", "ellip_harm", "ellip_harm_2", "ellip_normal")

Template = Callable[..., Any]
# ``template(f, *args)`` and its arguments.
Example = tuple[Template, tuple[np.ndarray, ...]]

# Points in the domain of most functions, numbers for further arguments, vectors and matrices.
_POINTS = (
    np.array([0.3, 0.9, 0.6]),
    np.array([1.3, 2.9, 1.6]),
    np.array([0.0, 1.0, 2.0]),
    np.array([0.2, 0.5, 0.3]),
    np.array([-0.3, -0.9, -0.6]),
)
_NUMBERS = tuple(map(np.array, (2.5, 0.6, 3.0, 0.4)))
_OTHERS = (tuple(map(np.array, (3.0, 0.4, 5.0, 1.5))), tuple(map(np.array, (0.4, 1.5, 2.0, 1.0))))
_VECTOR = np.array([0.5, 0.2, 0.7])
_MATRIX = np.array([[2.0, 0.5, 0.3], [0.5, 3.0, 0.2], [0.3, 0.2, 1.5]])


def _examples() -> Iterator[Example]:
    """The templates of calls in the order in which they are tried. The first one that fits is used."""

    def plainly(f: Any, *args: Any) -> Any:
        return f(*args)

    for count in range(5):
        for x in _POINTS:
            yield plainly, (x, *_NUMBERS[:count])
            if count:
                yield from ((plainly, (x, *others[:count])) for others in _OTHERS)
                yield plainly, (*_NUMBERS[:count], x)
    for x in _POINTS:
        yield lambda f, x: f(2, x), (x,)
        yield lambda f, x: f(1, 2, x), (x,)
        yield lambda f, x: f(x, 1), (x,)
        yield lambda f, x: f(2, 1, x, x), (x,)
    for args in ((_MATRIX,), (_MATRIX, _VECTOR), (_MATRIX, _MATRIX), (_MATRIX,) * 3, (_VECTOR, _MATRIX, _VECTOR)):
        yield plainly, args
    yield lambda f, p: f(np.array([1, 2, 0]), 3, p / np.sum(p)), (_VECTOR,)
    yield plainly, (_POINTS[3], _POINTS[1])
    yield plainly, (_MATRIX, np.array(4.5), _MATRIX)
    yield lambda f, x, y: f((x, False), y), (_MATRIX, _VECTOR)
    yield lambda f, x, y: f((x, np.arange(3)), y), (_MATRIX, _VECTOR)
    yield lambda f, x, y: f((1, 1), x, y), (_MATRIX, _VECTOR)
    yield lambda f, x: f([x, 2 * x]), (_MATRIX,)
    yield lambda f, x: f(x, 2), (_MATRIX,)
    yield lambda f, x, places: f(x, places, order=1), (_MATRIX, np.array([[0.3, 1.4], [1.2, 0.6]]))
    yield lambda f, x, y: f(x, y, _MATRIX), (_VECTOR, _VECTOR)


EXAMPLES = tuple(_examples())


# Most functions of these modules design filters and systems from plain numbers. Only those that exist here are called.
_OURS_ALONE = ("scipy.interpolate", "scipy.signal")

_LONG = np.sin(np.arange(12.0))
_SECTIONS = np.array([[0.3, 0.2, 0.1, 1.0, -0.4, 0.2]])
_FIRST: dict[str, Example] = {
    "fftfreq": (lambda f, d: f(6, d), (_NUMBERS[0],)),
    "rfftfreq": (lambda f, d: f(6, d), (_NUMBERS[0],)),
    "lfiltic": (lambda f, b, y: f(b, [1.0, 0.3], y), (_POINTS[1], _VECTOR)),
    "make_interp_spline": (lambda f, y, at: f(np.arange(3.0), y, 2)(at), (_VECTOR, _VECTOR)),
    "interpn": (lambda f, y, at: f((np.arange(3.0),), y, at), (_VECTOR, _VECTOR)),
    "seuclidean": (lambda f, u, v, w: f(u, v, w), (_POINTS[0], _POINTS[1], _VECTOR)),
    "mahalanobis": (lambda f, u, v, a: f(u, v, a), (_POINTS[0], _POINTS[1], _MATRIX)),
    "decimate": (lambda f, x: f(x, 2, ftype="fir"), (_LONG,)),
    "get_window": (lambda f, p: f(("gaussian", p), 5), (_NUMBERS[0],)),
    "hilbert": (lambda f, x: f(x), (_LONG,)),
    "resample": (lambda f, x: f(x, 5), (_LONG,)),
    "resample_poly": (lambda f, x, h: f(x, 2, 3, window=h), (_LONG, _VECTOR)),
    "savgol_filter": (lambda f, x: f(x, 5, 2), (_LONG,)),
    "filtfilt": (lambda f, b, x: f(b, 1.0, x), (_POINTS[1], _LONG)),
    "sosfilt": (lambda f, x: f(_SECTIONS, x), (_LONG,)),
    "sosfilt_zi": (lambda f, b: f(np.concatenate([b[None], [[1.0, -0.4, 0.2]]], 1)), (_POINTS[3],)),
    "sosfiltfilt": (lambda f, x: f(_SECTIONS, x), (_LONG,)),
    # Its p-value is NaN.
    "weightedtau": (lambda f, x, y: f(x, y)[0], (_POINTS[0], _VECTOR)),
    # SciPy leaves other numbers in the other triangle.
    "cho_factor": (lambda f, x: np.triu(f(x)[0]), (_MATRIX,)),
    # Functions that take a function, which closes over an argument.
    "fixed_quad": (lambda f, a, b, w: f(lambda x: np.cos(w * x), a, b)[0], _NUMBERS[:3]),
    # The signs of the vectors are those of SciPy's driver.
    "eigh": (lambda f, x: f(x, eigvals_only=True), (_MATRIX,)),
    "eig_banded": (lambda f, x: f(x, eigvals_only=True), (_MATRIX,)),
    "eigh_tridiagonal": (lambda f, x, y: f(x, y[:2], eigvals_only=True), (_VECTOR, _POINTS[1])),
    "eigvalsh_tridiagonal": (lambda f, x, y: f(x, y[:2]), (_VECTOR, _POINTS[1])),
    "funm": (lambda f, x: f(x, np.exp), (_MATRIX,)),
    "diags": (lambda f, x: f([x], [1]).toarray(), (_VECTOR,)),
    "diags_array": (lambda f, x: f([x], offsets=[1]).toarray(), (_VECTOR,)),
    "leslie": (lambda f, x, y: f(x, y[:2]), (_VECTOR, _POINTS[1])),
    "odeint": (lambda f, y, t, w: f(lambda y, t: -w * y, y, t), (_POINTS[0], _POINTS[2], _NUMBERS[1])),
    "bisect": (lambda f, a: f(lambda x: x**3 - a, -1.0, 5.0), _NUMBERS[:1]),
    "brenth": (lambda f, a: f(lambda x: x**3 - a, -1.0, 5.0), _NUMBERS[:1]),
    "brent": (lambda f, a: f(lambda x: np.cosh(x - a)), _NUMBERS[:1]),
    "golden": (lambda f, a: f(lambda x: np.cosh(x - a)), _NUMBERS[:1]),
    "fminbound": (lambda f, a: f(lambda x: np.cosh(x - a), -5.0, 5.0), _NUMBERS[:1]),
    "brentq": (lambda f, a: f(lambda x: x**3 - a, -1.0, 5.0), _NUMBERS[:1]),
    "curve_fit": (lambda f, y: f(lambda t, a, b: a + b * t, _POINTS[2], y, [1.0, 1.0])[0], (_VECTOR,)),
    "fixed_point": (lambda f, a: f(lambda x: (x + a / x) / 2, 1.0), _NUMBERS[:1]),
    "fsolve": (lambda f, a: f(lambda x: x**3 - a, 1.0), _NUMBERS[:1]),
    "least_squares": (lambda f, y: f(lambda x: x * _POINTS[1] - y, 1.0).x, (_VECTOR,)),
    "minimize": (lambda f, a: f(lambda x: np.sum(np.cosh(x - a)), np.ones(3)).x, (_VECTOR,)),
    "minimize_scalar": (lambda f, a: f(lambda x: np.cosh(x - a)).x, _NUMBERS[:1]),
    "newton": (lambda f, a: f(lambda x: x**3 - a, 1.0), _NUMBERS[:1]),
    "ridder": (lambda f, a: f(lambda x: x**3 - a, -1.0, 5.0), _NUMBERS[:1]),
    "root": (lambda f, a: f(lambda x: x**3 - a, 1.0).x, _NUMBERS[:1]),
    "root_scalar": (lambda f, a: f(lambda x: x**3 - a, bracket=(-1.0, 5.0)).root, _NUMBERS[:1]),
    "toms748": (lambda f, a: f(lambda x: x**3 - a, -1.0, 5.0), _NUMBERS[:1]),
    "quad": (lambda f, a, b, w: f(lambda x: np.cos(w * x), a, b)[0], _NUMBERS[:3]),
    "solve_ivp": (
        lambda f, y, t, w: f(lambda t, y: -w * y, (0, 3), y, t_eval=t).y,
        (_POINTS[0], _VECTOR[[1, 0, 2]], _NUMBERS[1]),
    ),
}


class Entry(NamedTuple):
    """A function of SciPy, and ours if there is one."""

    name: str
    scipys: Callable[..., Any]
    ours: Callable[..., Any] | None


def entries(module: str) -> Iterator[Entry]:
    """Return the public functions of a module, and the methods of its distributions that exist here."""
    ours = importlib.import_module(f"funcgrad.{module}")
    for name, scipys in functions(module):
        mine = getattr(ours, name, None)
        if mine is None and module in _OURS_ALONE:
            continue
        if not hasattr(scipys, "rvs"):
            yield Entry(name, scipys, mine)
        elif mine is None:
            yield Entry(name, getattr(scipys, "logpdf", None) or getattr(scipys, "logpmf", scipys), None)
        for method in METHODS:
            if mine is not None and hasattr(scipys, "rvs") and hasattr(scipys, method) and hasattr(mine, method):
                yield Entry(f"{name}.{method}", getattr(scipys, method), getattr(mine, method))


def answered(f: Callable[..., Any]) -> Iterator[tuple[Template, tuple[np.ndarray, ...], list[Any]]]:
    """Yield calls that SciPy answers with finite numbers, those with different numbers first, and the answers."""
    dull = []
    given = _FIRST.get(f.__name__) if hasattr(f, "__name__") else None
    for template, args in (given, *EXAMPLES) if given else EXAMPLES:
        results = None
        with contextlib.suppress(Exception):
            # A call whose arguments do not fit may raise anything.
            results = numbers(functools.partial(template, f))(*[np.array(x) for x in args])[:-1]
        if results and all(map(_is_finite, results)):
            if any(map(_tells, results)):
                yield template, args, results
            else:
                dull.append((template, args, results))
    yield from dull


def _is_finite(y: Any) -> bool:
    return np.asarray(y).dtype.kind in "biufc" and bool(np.all(np.isfinite(y)))


def _tells(y: Any) -> bool:
    """Return whether an answer is more than the end of a range, everywhere."""
    return bool(np.any(y != np.ravel(y)[0])) if np.size(y) > 1 else bool(np.any(y))


def row_of(module: str, entry: Entry) -> Row | None:
    """Return the row of the first call that is not refused; ``None`` if no call of the function was found."""
    refusal = None
    for template, args, expected in answered(entry.scipys):
        row = _row_of_call(module, entry, template, args, expected)
        if entry.ours is None or row.derivative != "refused":
            return row
        refusal = refusal or row
    return refusal


def _row_of_call(
    module: str, entry: Entry, template: Template, args: tuple[np.ndarray, ...], expected: list[Any]
) -> Row:
    """Differentiate by all arguments, or by those that are not refused."""
    title = f"`{module}.{entry.name}`"
    call = functools.partial(template, entry.ours or entry.scipys)
    own = functools.partial(template, functools.partial(_by_name, module, entry.name))
    # SciPy's own code may raise anything.
    refusals = REFUSALS if entry.ours else (*REFUSALS, ArithmeticError, AttributeError, LookupError, RuntimeError)
    most = len(args) if entry.ours else 1
    why: Exception | None = None
    for fixed in itertools.chain.from_iterable(itertools.combinations(range(len(args)), n) for n in range(most)):
        left, rest = _with_fixed(call, args, fixed)
        try:
            kind = derivative(left, rest, drawn=False)
            check(numbers(left)(*rest)[:-1], expected)
            graphs, batches, note = stages(left, rest, drawn=False)
        except refusals as error:
            why = why or error
            continue
        if fixed:
            note = f"no derivative by argument {' and '.join(str(i + 1) for i in fixed)}"
        return Row(title, kind, graphs, f"{batches} | {own_name(*_with_fixed(own, args, fixed), expected)}", note)
    return Row(title, "refused", "", f" | {own_name(own, args, expected)}", reason(why) if why else "")


def _by_name(module: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """Return SciPy's function by its name at the time of the call."""
    return operator.attrgetter(name)(importlib.import_module(module))(*args, **kwargs)


def _with_fixed(call: Callable[..., Any], args: tuple[Any, ...], fixed: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return the call as a function of the arguments that are not fixed."""

    def left(*rest: Any) -> Any:
        given = iter(rest)
        return call(*[x if i in fixed else next(given) for i, x in enumerate(args)])

    return left, tuple([x for i, x in enumerate(args) if i not in fixed])


def own_name(call: Callable[..., Any], args: tuple[Any, ...], expected: list[Any]) -> str:
    """Return under which conditions SciPy's own name takes traced values."""
    for answer, context in (("always", None), ("inside `fg.intercept()`", fg.intercept)):
        with contextlib.suppress(Exception), context() if context else contextlib.nullcontext():
            # SciPy may raise anything. Wrong numbers are noticed in the check of our own function.
            results, _ = fg.jvp(lambda *xs: numbers(call)(*xs), args, args)
            check(results[:-1], expected)
            return answer
    return "nowhere"


def table(module: str) -> str:
    """Return the rows of functions that exist here or work unchanged, then the names of refused or untried ones."""
    rows: list[Row] = []
    refused, untried = [], []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for entry in entries(module):
            if entry.name in _APART:
                untried.append(entry.name)
                continue
            row = row_of(module, entry)
            if row is None:
                assert entry.ours is None or "." in entry.name, (
                    f"{module}.{entry.name}: no example call fits it. Add one to EXAMPLES."
                )
                untried.append(entry.name)
                continue
            if entry.ours is None and row.derivative == "refused" and "nowhere" in row.batches:
                refused.append(entry.name)
            else:
                rows.append(row)
    parts = [
        "| function | derivative | graphs | vmap | own name | note |",
        "|---|---|---|---|---|---|",
        *map(str, rows),
    ]
    for names, what in (
        (refused, "funcgrad does not have these functions, and SciPy's own refuse traced values"),
        (untried, "These functions were not tried, because no call was found whose arguments and results are floats"),
    ):
        if names:
            parts += ["", f"{what}: {', '.join(f'`{name}`' for name in names)}."]
    return "\n".join(parts)
