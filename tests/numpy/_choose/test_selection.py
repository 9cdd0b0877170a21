"""``z[m] = f(x[m])`` with a mask whose numbers are not known: a choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import NonConcreteBooleanIndexError

POINTS = {
    "some": np.array([-1.3, 0.4, 2.2, 0.7, -0.2]),
    "none": np.array([-1.3, -0.4, -2.2, -3.0, -0.2]),
    "all": np.array([1.3, 0.4, 2.2, 0.7, 0.2]),
}
PROGRAMS = """
m = x > 0; z[m] = x[m] ** 2
z[x > 0] = np.sqrt(x[x > 0])
z[(x > 0) & (np.abs(x) < 2)] = np.log(x[(x > 0) & (np.abs(x) < 2)])
m = x > 0; z += 2 * x; z[m] *= 3; z[m] += x[m]; z[m] -= x[m] / np.float64(3); z[~m] = np.exp(x[~m])
m = x > 0; t = x[m]; u = t; u += 1; z[m] = t
m = x > 0; s = np.sum(x); z[m] = s / (x[m] - 1) + np.multiply(s, x[m]) + s * x[m] + (s > x[m])
m = x > 0; z[m] = np.where(x[m] > 1, x[m], np.clip(x[m], 0.1, 0.5) * 3); z[m] = abs(-z[m]) % 1.5
m = x > 0; z[m] = scipy.special.gammaln(x[m]) + fnp.exp(x[m]) + np.maximum(x[m], 0.5)
m = x > 0; z[m] = divmod(x[m], 2)[1] + np.cbrt(0.3 * x[m].clip(0.1, 1))
m = np.sum(x) > 0; z[m] = x[m] * 2
m = x > 0; z[m] = x[m].astype(np.float32)
m = x > 0; t = x[m].copy(); np.add(t, 1, out=t); z[m] = t
m = x > 0; z = x * np.ones((3, 1)); z[:, m] = z[:, m] * x[m] + np.array([[1.0], [2.0], [3.0]])
m = x > 0; z = x[:, None] * np.ones(3); z[m] = z[m] * np.array([1.0, 5.0, 7.0]); z[m, 1] = z[m, 0] ** x[m]
z = x[:, None] * np.arange(1.0, 4.0); m = z > 1; z[m] = 1 / z[m] + 2 ** z[m]
i = np.zeros_like(x, dtype=int) + np.arange(5); m = x > 0; i[m] = i[m] // 2 + (x[m] > 1); z[m] = i[m] * x[m]
""".strip().splitlines()


def _function(lines: str) -> Any:
    names: dict[str, Any] = {"np": np, "fnp": fnp, "scipy": scipy}
    exec(f"def f(x):\n    z = np.zeros_like(x)\n    {lines}\n    return z", names)
    return names["f"]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("lines", PROGRAMS)
def test_a_masked_assignment_is_a_choice(lines: str, point: str) -> None:
    f, x = _function(lines), POINTS[point]
    expected, slope = f(x), fg.jacrev(f)(x)

    def weighed(x: Any) -> Any:
        z = f(x)
        return np.sum(z * np.cos(np.arange(z.size)).reshape(z.shape))

    for engine in ("xla", "numpy", "numba"):
        np.testing.assert_allclose(fg.jit(f, engine=engine)(x), expected, rtol=1e-12)
        np.testing.assert_allclose(fg.jit(fg.jacrev(f), engine=engine)(x), slope, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.hessian(weighed), engine="numpy")(x), fg.hessian(weighed)(x), atol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.jacfwd(f), engine="numpy")(x), slope, rtol=1e-12)
    np.testing.assert_allclose(fg.jacrev(fg.jit(f))(x), slope, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.jacrev(fg.checkpoint(f)), engine="numpy")(x), slope, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([POINTS["some"], x]))[1], expected, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(fg.jacrev(f))(np.stack([POINTS["some"], x]))[1], slope, rtol=1e-12)
    if expected.ndim == 1:
        np.testing.assert_allclose(fg.sparse.jacobian(f)(x).toarray(), slope, rtol=1e-12)


def test_other_elements_leave_no_nan() -> None:
    def f(x: Any, a: Any) -> Any:
        z, m = np.zeros_like(x), x > 1
        z[m] = a / np.sqrt(np.log(x[m])) + np.log(x[m] - 1) ** a
        return np.sum(z)

    x, a = np.array([-1.0, 0.0, 1.0, 3.0]), 1.5
    expected = fg.grad(lambda a: a / np.sqrt(np.log(3.0)) + np.log(2.0) ** a)(a)
    for engine in ("xla", "numpy", "numba"):
        np.testing.assert_allclose(fg.jit(fg.grad(f, 1), engine=engine)(x, a), expected)
        np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(x, a), fg.grad(f)(x, a))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_that_are_infinite_at_1() -> None:
    # Each operation gets 1 for the elements outside the mask.
    def f(x: Any, a: Any) -> Any:
        z, m = a * 0 * x, np.abs(x) < 1
        z[m] = a * np.arctanh(x[m]) + np.arcsin(x[m]) ** a
        return np.sum(z)

    x, a = np.array([0.5, -3.0, 1.0, 0.25]), 1.5
    for engine in ("xla", "numpy", "numba"):
        for position in (0, 1):
            found = fg.jit(fg.grad(f, position), engine=engine)(x, a)
            np.testing.assert_allclose(found, fg.grad(f, position)(x, a), rtol=1e-12)


def test_a_mask_that_was_written_to_is_another_one() -> None:
    def f(x: Any) -> Any:
        z, m = np.zeros_like(x), x > 0
        part = x[m]
        m[0] = x[0] < 0
        z[m] = part
        return z

    with pytest.raises(NonConcreteBooleanIndexError, match="another mask selects"):
        fg.jit(f)(POINTS["some"])


REFUSED = """
return s
return {"a": s}
return np.sum(s)
return s.sum()
return s.take([0])
return np.add.reduce(s)
return len(s)
return s.shape
return [each for each in s]
return 2.0 in s
return round(s)
return np.asarray(s)
return np.stack([s, s])
return fnp.sum(s)
return fg.grad(lambda y: y)(s)
z[m] = s[::-1]
z[m] = np.sort(s)
z[m] = np.cumsum(s)
z[m] = s - s.mean()
z[m] = s @ s
z[m] = 2.0 if s else 1.0
z[m] = float(s)
z[m] = s * np.arange(3.0)
z[m] = s * x
z[m] = x * s
z[m] = np.multiply(x, s)
z[m] = np.where(m, s, 0)
z[m] = np.add(s, 1, where=m)
z[m] = x[x > 1]
z[x > 1] = s
z[~m] = s
z[m] = s + x[x > 1]
z[:] = s
z[0] = s
z += s
s += x
s[0] = 1
del s[0]
z[m] = np.stack([x, x])[:, m][0]
np.copyto(z, s, where=m)
""".strip().splitlines()


@pytest.mark.parametrize("transform", [fg.jit, fg.vmap, fg.sparse.jacobian], ids=["jit", "vmap", "sparse"])
@pytest.mark.parametrize("line", REFUSED)
def test_what_needs_the_number_of_elements_is_refused(line: str, transform: Any) -> None:
    names: dict[str, Any] = {"np": np, "fnp": fnp, "fg": fg}
    exec(f"def f(x):\n    z, m = np.zeros_like(x), x > 0\n    s = x[m]\n    {line}\n    return z", names)
    x = POINTS["some"]
    with pytest.raises(NonConcreteBooleanIndexError, match="an array was indexed by a traced mask bool"):
        transform(names["f"])(np.stack([x, x]) if transform is fg.vmap else x)


def test_a_followed_mask_selects_elements_as_before() -> None:
    def f(x: Any) -> Any:
        z, m = np.zeros_like(x), x > 0
        z[m] = x[m] - x[m].mean()
        return z

    np.testing.assert_allclose(fg.jit(f, paths=4)(POINTS["some"]), f(POINTS["some"]))
