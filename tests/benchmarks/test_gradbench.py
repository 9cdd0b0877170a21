"""GradBench's evaluations: answers of `python -m benchmarks.gradbench` compared with values computed in another way."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

import funcgrad as fg
from benchmarks.gradbench._protocol import EVALUATIONS, Tool

FUNCTIONS = {
    "ba": ("objective", "jacobian"),
    "det": ("primal", "gradient"),
    "gmm": ("objective", "jacobian"),
    "hello": ("square", "double"),
    "ht": ("objective", "jacobian"),
    "kmeans": ("cost", "dir"),
    "llsq": ("primal", "gradient"),
    "lse": ("primal", "gradient"),
    "lstm": ("objective", "jacobian"),
    "ode": ("primal", "gradient"),
    "particle": ("ff", "fr", "rf", "rr"),
    "saddle": ("ff", "fr", "rf", "rr"),
}


@pytest.fixture(scope="module", params=["numpy", "xla"])
def tool(request: pytest.FixtureRequest) -> Tool:
    return Tool(partial(fg.jit, engine=request.param))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def _ask(tool: Tool, module: str, function: str, given: Any) -> Any:
    """Return a function's output for an input that went through JSON, as the evaluation sends it."""
    if isinstance(given, dict):
        given = given | {"min_runs": 1, "min_seconds": 0}
    message = json.dumps({"id": 0, "kind": "evaluate", "module": module, "function": function, "input": given})
    (response,) = (json.loads(line) for line in tool.answers([message]))
    assert response["success"], response["error"]
    assert [timing["name"] for timing in response["timings"]] == ["evaluate"]
    return response["output"]


def _slopes(f: Callable[[np.ndarray], Any], x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Return the derivatives of f by the elements of x, as the last axis, from central differences."""
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    if not x.size:
        return np.empty((*np.shape(f(x)), 0))
    return np.stack([(np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * h) for e in steps], axis=-1)


def _close(actual: Any, expected: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(actual, float), np.asarray(expected), rtol=tolerance, atol=tolerance)


def test_each_evaluation_has_its_functions(tool: Tool) -> None:
    assert sorted(FUNCTIONS) == sorted(EVALUATIONS)
    for module, functions in FUNCTIONS.items():
        assert tool.answer({"id": 3, "kind": "define", "module": module}) == {"id": 3, "success": True}
        assert sorted(tool._module(module)) == sorted(functions)


def test_hello(tool: Tool) -> None:
    assert _ask(tool, "hello", "square", 3.0) == 9.0
    assert _ask(tool, "hello", "double", 3) == 6.0


def test_lse(tool: Tool, rng: np.random.Generator) -> None:
    x = 300.0 * rng.standard_normal(50)
    given = {"x": x.tolist()}
    _close(_ask(tool, "lse", "primal", given), scipy.special.logsumexp(x))
    _close(_ask(tool, "lse", "gradient", given), scipy.special.softmax(x))


def test_llsq(tool: Tool, rng: np.random.Generator) -> None:
    x, t = rng.random(6), np.linspace(-1.0, 1.0, 17)  # t[8] is 0, and so is its sign.
    missing = np.sign(t) - np.polynomial.polynomial.polyval(t, x)
    given = {"x": x.tolist(), "n": 17}
    _close(_ask(tool, "llsq", "primal", given), 0.5 * missing @ missing)
    _close(_ask(tool, "llsq", "gradient", given), -np.polynomial.polynomial.polyvander(t, 5).T @ missing)


@pytest.mark.parametrize(("n", "s", "tolerance"), [(1, 3, 1e-12), (4, 1, 1e-12), (4, 7, 1e-12), (7, 60, 1e-5)])
def test_ode(tool: Tool, rng: np.random.Generator, n: int, s: int, tolerance: float) -> None:
    """The exact solution is a polynomial, and the method is exact up to degree four."""
    x = 0.5 + rng.random(n)
    powers = np.arange(1, n + 1)
    y = np.cumprod(x) * 2.0**powers / scipy.special.factorial(powers)
    given = {"x": x.tolist(), "s": s}
    _close(_ask(tool, "ode", "primal", given), y, tolerance)
    _close(_ask(tool, "ode", "gradient", given), y[-1] / x, tolerance)


@pytest.mark.parametrize("ell", [1, 2, 3, 6])
def test_det(tool: Tool, rng: np.random.Generator, ell: int) -> None:
    a = rng.random((ell, ell))
    given = {"A": a.ravel().tolist(), "ell": ell}
    _close(_ask(tool, "det", "primal", given), np.linalg.det(a))
    _close(_ask(tool, "det", "gradient", given), np.ravel(np.linalg.det(a) * np.linalg.inv(a).T), 1e-9)


def test_kmeans(tool: Tool, rng: np.random.Generator) -> None:
    points = rng.random((40, 3))
    centroids = points[-4:]
    squares = cdist(points, centroids) ** 2
    nearest = np.argmin(squares, axis=1)
    given = {"points": points.tolist(), "centroids": centroids.tolist()}
    _close(_ask(tool, "kmeans", "cost", given), squares.min(axis=1).sum())
    means = np.stack([points[nearest == k].mean(axis=0) for k in range(4)])
    _close(_ask(tool, "kmeans", "dir", given), centroids - means)


@pytest.mark.parametrize(("d", "k", "m"), [(1, 2, 0), (3, 4, 2)])
def test_gmm(tool: Tool, rng: np.random.Generator, d: int, k: int, m: int) -> None:
    gamma, x = 1.3, rng.standard_normal((9, d))
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    parameters = {name: rng.standard_normal(shape) for name, shape in shapes.items()}

    def log_posterior(values: dict[str, np.ndarray]) -> float:
        alpha, mu, q, below = (values[name] for name in shapes)
        total, likelihood = 0.0, np.zeros(len(x))
        for i in range(k):
            factor = np.diag(np.exp(q[i]))
            entries = iter(below[i])
            for column in range(d):
                for row in range(column + 1, d):
                    factor[row, column] = next(entries)
            precision = factor.T @ factor
            covariance: Any = np.linalg.inv(precision)
            normal = scipy.stats.multivariate_normal.pdf(x, mu[i], covariance)
            likelihood += scipy.special.softmax(alpha)[i] * normal
            total += scipy.stats.wishart(d + m + 1, np.eye(d) / gamma**2).logpdf(precision)
        return float(total + np.log(likelihood).sum())

    given = {name: value.tolist() for name, value in parameters.items()}
    given |= {"d": d, "k": k, "n": len(x), "x": x.tolist(), "m": m, "gamma": gamma}
    _close(_ask(tool, "gmm", "objective", given), log_posterior(parameters))
    output = _ask(tool, "gmm", "jacobian", given)
    assert set(output) == set(parameters)
    for name, value in parameters.items():
        slopes = _slopes(lambda v, name=name: log_posterior(parameters | {name: v}), value)
        _close(np.reshape(output[name], -1), slopes.reshape(-1), 1e-6)


def _errors(cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, feature: np.ndarray) -> np.ndarray:
    """Return the errors of bundle adjustment, one observation after the other, then those of the weights."""
    errors = []
    for i, weight in enumerate(weights):
        camera, point = cameras[i % len(cameras)], points[i % len(points)]
        seen = Rotation.from_rotvec(camera[:3]).apply(point - camera[3:6])
        flat = seen[:2] / seen[2]
        radius = np.sum(flat**2)
        flat = flat * (1.0 + camera[9] * radius + camera[10] * radius**2)
        errors.append(weight * (camera[6] * flat + camera[7:9] - feature))
    return np.concatenate([np.concatenate(errors), 1.0 - weights**2])


@pytest.mark.parametrize("rotation", [(0.3, -0.5, 0.4), (0.0, 0.0, 0.0)], ids=["turned", "not turned"])
def test_ba(tool: Tool, rng: np.random.Generator, rotation: tuple[float, ...]) -> None:
    n, m, p = 2, 3, 12
    camera = np.concatenate([rotation, rng.random(8)])
    x, w, feature = np.array([0.4, 0.2, 3.0]), 0.7, rng.random(2)
    given = {"n": n, "m": m, "p": p, "cam": camera.tolist(), "x": x.tolist(), "w": w, "feat": feature.tolist()}
    parameters = (np.tile(camera, (n, 1)), np.tile(x, (m, 1)), np.full(p, w))
    errors = _errors(*parameters, feature)
    output = _ask(tool, "ba", "objective", given)
    assert (output["reproj_error"]["repeated"], output["w_err"]["repeated"]) == (p, p)
    _close(output["reproj_error"]["elements"], errors[:2])
    _close(output["w_err"]["element"], errors[-1])

    def of_all(v: np.ndarray) -> np.ndarray:
        return _errors(v[: 11 * n].reshape(n, 11), v[11 * n : 11 * n + 3 * m].reshape(m, 3), v[-p:], feature)

    expected = _slopes(of_all, np.concatenate([v.ravel() for v in parameters]))
    task = tool._module("ba")["jacobian"]
    matrix = task.run(*task.read(given))
    compressed = csr_array((matrix["vals"], matrix["cols"], matrix["rows"]), shape=expected.shape)
    _close(compressed.toarray(), expected, 1e-7)
    assert compressed.nnz == 31 * p
    # The evaluation compares the first thirty entries and the last one.
    for name, values in _ask(tool, "ba", "jacobian", given).items():
        _close(values, [*matrix[name][:30], matrix[name][-1]])


PARENTS = [-1, 0, *(parent for finger in range(5) for parent in (1, *range(4 * finger + 2, 4 * finger + 5)))]


def _hand(rng: np.random.Generator, *, with_us: bool, mirrored: bool) -> dict[str, Any]:
    bones, vertices, n = len(PARENTS), 7, 5
    model = {
        "bone_count": bones,
        "bone_names": [f"bone {i}" for i in range(bones)],
        "parents": PARENTS,
        "base_relatives": rng.standard_normal((bones, 4, 4)).tolist(),
        "inverse_base_absolutes": rng.standard_normal((bones, 4, 4)).tolist(),
        "base_positions": rng.standard_normal((vertices, 4)).tolist(),
        "weights": rng.random((vertices, bones)).tolist(),
        "triangles": rng.integers(0, vertices, (6, 3)).tolist(),
        "is_mirrored": mirrored,
    }
    found = rng.integers(0, 6, n).tolist()
    return {
        "theta": rng.standard_normal(26).tolist(),
        "data": {"model": model, "correspondences": found, "points": rng.standard_normal((n, 3)).tolist()},
        "us": rng.random((n, 2)).tolist() if with_us else [],
    }


def _distances(theta: np.ndarray, us: np.ndarray, data: dict[str, Any]) -> np.ndarray:
    """Return the distances of points from a posed hand, with loops over bones, vertices and points."""
    model = data["model"]
    angles = np.zeros((len(PARENTS), 3))
    for finger in range(5):
        first = 2 + 4 * finger
        angles[first, 0], angles[first, 1], angles[first + 1, 0], angles[first + 2, 0] = theta[6 + 4 * finger :][:4]
    absolutes: list[np.ndarray] = []
    for bone, parent in enumerate(PARENTS):
        turn = np.eye(4)
        about_x, about_z, about_y = angles[bone]
        turn[:3, :3] = Rotation.from_euler("xyz", [about_x, about_y, about_z]).as_matrix()
        relative = np.array(model["base_relatives"][bone]) @ turn
        absolutes.append(relative if parent == -1 else absolutes[parent] @ relative)
    vertices = []
    for position, weights in zip(model["base_positions"], model["weights"], strict=True):
        moved = np.zeros(4)
        for bone, weight in enumerate(weights):
            moved += weight * absolutes[bone] @ np.array(model["inverse_base_absolutes"][bone]) @ np.array(position)
        moved[0] *= -1.0 if model["is_mirrored"] else 1.0
        turned = Rotation.from_rotvec(theta[:3]).apply(moved[:3]) if np.linalg.norm(theta[:3]) >= 1e-4 else moved[:3]
        vertices.append(turned + theta[3:6])
    errors = []
    for i, (found, point) in enumerate(zip(data["correspondences"], data["points"], strict=True)):
        place = vertices[found]
        if len(us):
            a, b, c = (vertices[corner] for corner in model["triangles"][found])
            place = us[i, 0] * a + us[i, 1] * b + (1.0 - us[i, 0] - us[i, 1]) * c
        errors.append(point - place)
    return np.concatenate(errors)


@pytest.mark.parametrize(
    ("with_us", "mirrored", "turned"),
    [(True, False, True), (False, False, True), (True, True, True), (False, False, False)],
    ids=["complicated", "simple", "mirrored", "not turned"],
)
def test_ht(tool: Tool, rng: np.random.Generator, with_us: bool, mirrored: bool, turned: bool) -> None:
    given = _hand(rng, with_us=with_us, mirrored=mirrored)
    if not turned:
        given["theta"][:3] = [0.0, 0.0, 0.0]
    theta, us, data = np.array(given["theta"]), np.array(given["us"]), given["data"]
    _close(_ask(tool, "ht", "objective", given), _distances(theta, us, data))
    # The reference program does not turn the hand below an angle of 1e-4: its derivatives are zero there.
    expected = _slopes(lambda theta: _distances(theta, us, data), theta)
    if with_us:
        by_us = _slopes(lambda us: _distances(theta, us, data), us).reshape(-1, *us.shape)
        expected = np.concatenate([by_us.sum(axis=1), expected], axis=1)
    _close(_ask(tool, "ht", "jacobian", given), expected, 1e-5)


def _lstm_loss(main: np.ndarray, extra: np.ndarray, state: np.ndarray, sequence: np.ndarray) -> float:
    """Return the loss by loops over characters, layers and bits."""
    bits, layers = extra.shape[1], len(main) // 2
    hidden, cell = state[0::2].copy(), state[1::2].copy()
    total = 0.0
    for character, coming in itertools.pairwise(sequence):
        x = character * extra[0]
        for i in range(layers):
            (wf, wi, wo, wc), (bf, bi, bo, bc) = main[2 * i].reshape(4, bits), main[2 * i + 1].reshape(4, bits)
            for j in range(bits):
                forget, into = scipy.special.expit([x[j] * wf[j] + bf[j], hidden[i, j] * wi[j] + bi[j]])
                out, change = scipy.special.expit(x[j] * wo[j] + bo[j]), np.tanh(hidden[i, j] * wc[j] + bc[j])
                cell[i, j] = cell[i, j] * forget + into * change
                hidden[i, j] = out * np.tanh(cell[i, j])
            x = hidden[i]
        y = x * extra[1] + extra[2]
        total += np.sum(coming * (y - np.log(2.0 + np.sum(np.exp(y)))))
    return -total / (bits * (len(sequence) - 1))


def test_lstm(tool: Tool, rng: np.random.Generator) -> None:
    layers, bits = 2, 3
    main, extra, state = (rng.random(shape) for shape in ((2 * layers, 4 * bits), (3, bits), (2 * layers, bits)))
    sequence = np.round(rng.random((6, bits)))
    named = {"main_params": main, "extra_params": extra, "state": state, "sequence": sequence}
    given = {name: value.tolist() for name, value in named.items()}
    _close(_ask(tool, "lstm", "objective", given), _lstm_loss(main, extra, state, sequence))
    by_main = _slopes(lambda main: _lstm_loss(main, extra, state, sequence), main)
    by_extra = _slopes(lambda extra: _lstm_loss(main, extra, state, sequence), extra)
    _close(_ask(tool, "lstm", "jacobian", given), np.concatenate([by_main, by_extra]), 1e-7)
