"""SciPy's own functions, called on a function that closes over a traced value: the derivative is right, or refused."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, ndimage, optimize

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError, UnsupportedFunctionError

NUMBERS = np.arange(5.0)
RIGHT: dict[str, Callable[[Any], Any]] = {
    "bracket": lambda a: optimize.bracket(lambda x: (x - a) ** 2 + x / 10, 0.0, 1.0)[4],
    "cubature": lambda a: integrate.cubature(lambda x: np.sin(a * x[..., 0]), [0], [1]).estimate,
    "fixed_quad": lambda a: integrate.fixed_quad(lambda x: np.sin(a * x), 0, 1)[0],
    "newton": lambda a: optimize.newton(lambda x: x**3 + np.sin(x) - a, 1.0),
    "vectorized_filter": lambda a: ndimage.vectorized_filter(NUMBERS, lambda x, axis: a * x.sum(axis), size=3).sum(),
}
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "golden": (lambda a: optimize.golden(lambda x: np.cosh(x - a)), r"fg\.scipy\.optimize\.golden"),
    "golden of a product": (lambda a: optimize.golden(lambda x: np.cosh(x - 2) * a), r"fg\.scipy\.optimize\.golden"),
    "brent": (lambda a: optimize.brent(lambda x: np.cosh(x - a)), r"fg\.scipy\.optimize\.brent"),
    "fminbound": (lambda a: optimize.fminbound(lambda x: np.cosh(x - a), 0, 4), r"fg\.scipy\.optimize\.fminbound"),
    **{
        name: (lambda a, name=name: getattr(optimize, name)(lambda x: x**3 - a, 0, 4), rf"fg\.scipy\.optimize\.{name} ")
        for name in ("bisect", "brenth", "brentq", "ridder")
    },
    "root_scalar": (
        lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=[0, 4]).root,
        r"fg\.scipy\.optimize\.root_scalar .*fg\.intercept\(\)",
    ),
    # A traced number is a number to SciPy, so these two put it into an array, which NumPy's loop in C refuses.
    "fixed_point": (lambda a: optimize.fixed_point(lambda x: np.cos(a * x / 3), 0.5), r"fg\.scipy\.optimize\.fixed_p"),
    "toms748": (lambda a: optimize.toms748(lambda x: x**3 - a, 0, 4), r"fg\.scipy\.optimize\.toms748"),
    "fmin": (lambda a: optimize.fmin(lambda x: (x[0] - a) ** 2, [0.0], disp=0)[0], "method='Nelder-Mead'"),
    "fmin_bfgs": (lambda a: optimize.fmin_bfgs(lambda x: (x[0] - a) ** 2, [0.0], disp=0)[0], "method='BFGS'"),
    "fmin_powell": (lambda a: optimize.fmin_powell(lambda x: (x[0] - a) ** 2, [0.0], disp=0)[0], "method='Powell'"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_derivative_is_right(name: str) -> None:
    f = RIGHT[name]
    slope = (f(1.5 + 1e-5) - f(1.5 - 1e-5)) / 2e-5
    np.testing.assert_allclose(fg.grad(f)(1.5), slope, rtol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_a_lost_derivative_is_refused(name: str) -> None:
    f, message = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        _is_refused(lambda: fg.grad(f)(1.5), message)
        _is_refused(lambda: fg.jvp(f, (1.5,), (1.0,)), message)


def _is_refused(call: Callable[[], Any], message: str) -> None:
    """Check the error. SciPy's C code goes on after it, and calls the function once more.

    Python looks for ``__rsub__`` of the tracer then. It finds it or not, depending on what its cache of methods holds;
    if not, the error is a TypeError, which has the same advice as its note.
    """
    with pytest.raises((UnsupportedFunctionError, TracerAssignmentError, TypeError, ValueError)) as caught:
        call()
    error = caught.value
    ours = UnsupportedFunctionError, TracerAssignmentError
    assert isinstance(error, ours) or str(error).startswith(("unsupported operand type", "out[i] = value: a traced"))
    assert re.search(message, "\n".join([str(error), *getattr(error, "__notes__", ())]))


def test_a_staged_search_is_refused() -> None:
    with pytest.raises(UnsupportedFunctionError, match=r"fg\.scipy\.optimize\.golden"):
        fg.jit(REFUSED["golden"][0], engine="numpy")(1.5)
