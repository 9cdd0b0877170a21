"""Long programs that do not become structured loops run as instructions, with the numbers of the NumPy engine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph, Var
from funcgrad._engines.source.kernels.expand import prepared
from funcgrad._engines.source.kernels.instructions.plan import ConnectedParts, with_instructions
from funcgrad._ops.index.gather import scatter_p

N = 14


def _definite(n: int = N) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((n, n))
    return x @ x.T + n * np.eye(n)


def cholesky(a: Any) -> Any:
    a = a.copy()
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(np.tril(a) * np.cos(np.arange(a.size)).reshape(a.shape))


def elimination(a: Any) -> Any:
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(a * a)


def recursion(r: Any) -> Any:
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * np.arange(1.0, r.shape[0] + 1))


def product(a: Any, b: Any) -> Any:
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return np.sum(2.0 * b * b)


def triangle(a: Any, x: Any) -> Any:
    out = np.zeros((x.shape[0], x.shape[0]), like=a)
    for i in range(x.shape[0]):
        out[i, i:] = x[i] * a[i, i:]
        out[i:, i] = out[i, i:] + a[i:, i] ** 2
    return np.sum(np.sin(out))


def symmetric(c: Any, a: Any, b: Any) -> Any:
    """The first of the rounds read and write empty slices, and roll."""
    rest = np.zeros(c.shape[1], like=c)
    c = 0.5 * c
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += b[i, j] * a[i, :i]
            rest[j] = b[:i, j] @ a[i, :i]
        c[i, :] += b[i, :] * a[i, i] + rest
    return np.sum(np.sin(c))


def windows(x: Any, w: Any) -> Any:
    out = np.zeros((x.shape[0] - 2, x.shape[1] - 2), like=x)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(x[i : i + 3, j : j + 3] * w) + i * 0.1 * j
    return np.sum(np.maximum(out, 0.0) ** 2)


def filters(x: Any, a: Any) -> Any:
    """Two recurrences over columns, in both directions, then over rows of the same arrays."""
    y, z = np.zeros(x.shape, like=x), np.zeros(x.shape, like=x)
    columns, rows = x.shape[1], x.shape[0]
    for j in range(2, columns):
        y[:, j] = a[0] * x[:, j] + a[1] * x[:, j - 1] + a[2] * y[:, j - 1] + a[3] * y[:, j - 2]
    for j in range(columns - 3, -1, -1):
        z[:, j] = a[1] * x[:, j + 1] + a[0] * x[:, j + 2] + a[3] * z[:, j + 1] + a[2] * z[:, j + 2]
    out = y + z
    for i in range(2, rows):
        y[i] = a[0] * out[i] + a[1] * out[i - 1] + a[2] * y[i - 1] + a[3] * y[i - 2]
    for i in range(rows - 3, -1, -1):
        z[i] = a[1] * out[i + 1] + a[0] * out[i + 2] + a[3] * z[i + 1] + a[2] * z[i + 2]
    out[:] = y + z
    return np.sum(np.sin(out))


_RNG = np.random.default_rng(1)
PROGRAMS: dict[Callable[..., Any], tuple[np.ndarray, ...]] = {
    cholesky: (_definite(),),
    elimination: (_definite(),),
    recursion: (_RNG.uniform(-0.05, 0.05, 60),),
    product: (_RNG.standard_normal((12, 12)), _RNG.standard_normal((12, 9))),
    triangle: (_RNG.standard_normal((40, 40)), _RNG.standard_normal(40)),
    filters: (_RNG.standard_normal((20, 30)), np.array([0.3, -0.2, 0.5, 0.1])),
    windows: (_RNG.standard_normal((14, 14)), _RNG.standard_normal((3, 3))),
}


def _stretches(graph: Graph) -> list[Any]:
    found = with_instructions(prepared(graph), lambda plan: plan)
    return [each.primitive for each in found.equations if not hasattr(each.primitive, "forms")]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_numbers_are_those_of_numpy(program: Callable[..., Any]) -> None:
    arguments = PROGRAMS[program]
    gradient = fg.value_and_grad(program, argnums=tuple(range(len(arguments))))
    # Some of these programs have loops that would be compiled as loops.
    ours, theirs = (fg.jit(gradient, engine=engine, roll=False) for engine in ("numba", "numpy"))
    assert _stretches(ours.graph(*arguments))
    for _ in range(2):
        for x, y in zip(fg.tree.leaves(ours(*arguments)), fg.tree.leaves(theirs(*arguments)), strict=True):
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(np.signbit(x), np.signbit(y))


def test_parts_stay_connected() -> None:
    rng = np.random.default_rng(0)
    variables = [Var(Aval((2,), np.dtype(float))) for _ in range(60)]
    parts, sets = ConnectedParts(), {x: {x} for x in variables}
    for _ in range(40):
        chosen = [variables[k] for k in rng.integers(0, 60, 3)]
        parts.connect(chosen)
        joined = set.union(*[sets[x] for x in chosen])
        sets.update(dict.fromkeys(joined, joined))
        for x in variables:
            assert {y for y in variables if parts.root(y) is parts.root(x)} == sets[x]


def test_what_is_connected_is_one_kernel() -> None:
    """Sums of hundreds of pieces connect all parts that make the pieces."""
    arguments = [_RNG.standard_normal(shape) for shape in ((9, 10), (9, 9), (9, 10))]
    gradient = fg.value_and_grad(symmetric, argnums=(0, 1, 2))
    compiled = fg.jit(gradient, engine="numba")
    found = with_instructions(prepared(compiled.graph(*arguments)), lambda plan: plan).equations
    assert sum(not hasattr(each.primitive, "forms") for each in found) == 1
    assert not [each for each in found if each.primitive is scatter_p]
    for x, y in zip(fg.tree.leaves(compiled(*arguments)), fg.tree.leaves(gradient(*arguments)), strict=True):
        np.testing.assert_allclose(x, y, 1e-10, 1e-13)


def test_other_numbers_and_a_longer_loop_share_the_code() -> None:
    sources = set()
    for n in (N, N + 5):
        (plan,) = _stretches(fg.jit(fg.grad(elimination), engine="numba").graph(_definite(n)))
        sources.add(plan.text.source)
    assert len(sources) == 1


def test_a_write_does_not_copy_the_array() -> None:
    """The workspace has room for a few arrays: a copy for each write would take 169 arrays."""
    (plan,) = _stretches(
        fg.jit(fg.grad(lambda b: product(np.ones((40, 40)), b)), engine="numba").graph(np.ones((40, 4)))
    )
    assert plan.text.workspace < 40 * 4 * 8 * 100


def test_an_index_out_of_bounds_is_an_error() -> None:
    def picked(x: Any, ids: Any) -> Any:
        total = x[0] * 0.0
        for i in range(ids.shape[0]):
            total = total + np.sum(np.sin(x[ids[i:]])) * x[i]
        return total

    x, ids = np.arange(1.0, 81.0), np.arange(80) % 7
    compiled = fg.jit(fg.grad(picked), engine="numba", roll=False)
    np.testing.assert_allclose(compiled(x, ids), fg.grad(picked)(x, ids))
    with pytest.raises(IndexError):
        compiled(x, np.where(ids == 3, 99, ids))


def test_loops_in_a_long_program_are_instructions_too() -> None:
    def steps(a: Any) -> Any:
        total = 0.0
        for i in range(2, 24):
            x = a[:i]
            for _ in range(40):
                x = x + 0.1 * np.sin(x) * a[0]
            total = total + np.sum(x * x)
        return total

    a = np.linspace(0.1, 1.0, 30)
    gradient = fg.value_and_grad(steps)
    ours = fg.jit(gradient, engine="numba")
    np.testing.assert_allclose(ours(a)[1], gradient(a)[1], rtol=1e-13)
    assert _stretches(ours.graph(a))


def test_arguments_are_left_as_they_are() -> None:
    a = _definite()
    before = a.copy()
    fg.jit(fg.grad(cholesky), engine="numba")(a)
    np.testing.assert_array_equal(a, before)


def test_many_short_programs_are_no_long_program() -> None:
    """The step of an optimizer is short for each parameter, and writes over the donated parameters on all cores."""
    rng = np.random.default_rng(0)

    def arrays() -> list[np.ndarray]:
        # All shapes differ, so the program does not roll.
        return [rng.standard_normal((200 + k, 250)).astype(np.float32) for k in range(80)]

    params, grads = arrays(), arrays()
    state = fg.sgd_init(params, lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    expected, _ = fg.sgd_update(grads, state, params)
    update = fg.jit(lambda *args: fg.sgd_update(*args), engine="numba", donate_argnums=(1, 2))
    assert len(update.graph(grads, state, params).equations) > 400
    assert not _stretches(update.graph(grads, state, params))
    donated = {id(x) for x in fg.tree.leaves((state, params))}
    new, _ = update(grads, state, params)
    for x, y in zip(new, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
        assert id(x) in donated


def test_a_number_of_a_long_program_connects_its_parts() -> None:
    def normed(x: Any) -> Any:
        parts = [x[i:] for i in range(1, 30)]
        total = x[0]
        for part in parts:
            total = total + np.sqrt(np.sum(part * part)) * np.sin(total)
        return total

    x = np.linspace(0.1, 1.0, 40)
    gradient = fg.jit(fg.grad(normed), engine="numba", roll=False)
    assert len(_stretches(gradient.graph(x))) == 1
    np.testing.assert_allclose(gradient(x), fg.grad(normed)(x), rtol=1e-12)


def test_a_sum_is_made_before_a_larger_sum_reads_it() -> None:
    # The derivative of a row read backward is a sum of one piece, and one of 59 pieces of the derivative of ``x``.
    def program(x: Any) -> Any:
        y = x[0]
        for t in range(1, 60):
            y = np.tanh(y * x[t][::-1]) + 0.5 * np.sin(y) - 0.1 * y * y
        return np.sum(y)

    x = _RNG.standard_normal((60, 3))
    ours = fg.jit(fg.grad(program), engine="numba", roll=False)
    assert _stretches(ours.graph(x))
    np.testing.assert_array_equal(ours(x), fg.jit(fg.grad(program), engine="numpy", roll=False)(x))


def test_rows_at_known_places_are_read_and_added_by_one_kernel() -> None:
    """A product of a sparse matrix, row by row: each row reads other places, some of them twice or not at all."""
    rng = np.random.default_rng(0)
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 150))]).astype(np.uint32)
    places = rng.integers(0, 40, ends[-1]).astype(np.uint32)

    def rows(values: Any, x: Any) -> Any:
        y = np.zeros(ends.size - 1, like=x)
        for i in range(ends.size - 1):
            part = slice(ends[i], ends[i + 1])
            y[i] = values[part] @ x[places[part]]
        return np.sum(np.sin(y))

    given = rng.standard_normal(ends[-1]), rng.standard_normal(40)
    gradient = fg.value_and_grad(rows, argnums=(0, 1))
    numba, numpy = fg.jit(gradient, engine="numba"), fg.jit(gradient, engine="numpy")
    for ours, theirs in zip(fg.tree.leaves(numba(*given)), fg.tree.leaves(numpy(*given)), strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    (kernel,) = with_instructions(prepared(fg.make_graph(gradient)(*given)), lambda plan: plan).equations
    # The values, the places, and the numbers of each dtype; not the places of each row.
    assert len(kernel.operands) < 8


def _in_order(x: Any) -> Any:
    return np.sort(x)


def _summed(x: Any) -> Any:
    return np.cumsum(x)


def _folded(x: Any) -> Any:
    return np.convolve(x, x)[:4]


@pytest.mark.parametrize("first", [_in_order, _summed, _folded])
def test_a_sum_is_made_for_an_operation_that_ends_the_stretch(first: Callable[[Any], Any]) -> None:
    # The derivative of the first operation reads a sum of one piece, and has no instructions itself.
    def program(x: Any) -> Any:
        y = first(x[0])[1:3]
        for t in range(1, 60):
            y = np.tanh(y[::-1] * x[t, :2]) + 0.5 * np.sin(y) - 0.1 * y * y + 0.1 * np.cos(y)
        return np.sum(y)

    x = np.random.default_rng(0).standard_normal((60, 4))
    ours = fg.jit(fg.grad(program), engine="numba", roll=False)
    assert _stretches(ours.graph(x))
    np.testing.assert_allclose(ours(x), fg.grad(program)(x), rtol=1e-12, atol=1e-20)


def test_a_sum_is_added_to_another_sum() -> None:
    def program(x: Any) -> Any:
        for k in range(60):
            first = fg.grad(lambda y, k=k: np.sum(np.sin(y[:3] * (k + 1))))(x)
            second = fg.grad(lambda y: np.sum(np.cos(y[2:] ** 2)))(x)
            x = (first + second) * 0.1 + x * x * 0.1
        return x

    x = np.arange(1.0, 6.0) / 5
    ours = fg.jit(program, engine="numba", roll=False)
    assert _stretches(ours.graph(x))
    np.testing.assert_allclose(ours(x), program(x), rtol=1e-12)


def _unscented(p: Any, measured: Any) -> Any:
    """An unscented Kalman filter of three states; the negative log-likelihood of what was measured."""
    mean, cov, count, total = np.ones(3) * p[2], np.eye(3) * p[3], 3, 0.0
    weights = np.array([0.25, *[0.125] * 6])
    for z in measured:
        factor = np.linalg.cholesky((count + 1) * cov)
        points = np.zeros_like(p, shape=(2 * count + 1, count))
        points[0] = mean
        for i in range(count):
            points[1 + i], points[1 + count + i] = mean + factor[:, i], mean - factor[:, i]
        moved, seen = np.zeros_like(points), np.zeros_like(p, shape=(2 * count + 1, 2))
        for k, x in enumerate(points):
            moved[k, 0], moved[k, 1], moved[k, 2] = x[0] + 0.1 * x[1], x[1] - 0.1 * np.sin(x[0]), 0.99 * x[2]
            seen[k, 0], seen[k, 1] = np.hypot(moved[k, 0], moved[k, 1]), moved[k, 2]
        mean, expected = weights @ moved, weights @ seen
        off, error = moved - mean, seen - expected
        noise = error.T @ (weights[:, None] * error) + np.eye(2) * p[1]
        gain = off.T @ (weights[:, None] * error) @ np.linalg.inv(noise)
        rest = z - expected
        mean = mean + gain @ rest
        cov = off.T @ (weights[:, None] * off) + np.eye(3) * p[0] - gain @ noise @ gain.T
        total = total + rest @ np.linalg.solve(noise, rest) + np.log(np.linalg.det(noise))
    return total


@pytest.mark.long
@pytest.mark.parametrize("roll", [False, True])
def test_an_unscented_kalman_filter(roll: bool) -> None:
    p, measured = np.array([0.1, 0.2, 0.5, 1.0]), np.random.default_rng(1).random((4, 2))
    expected = fg.grad(_unscented)(p, measured)
    ours = fg.jit(fg.grad(_unscented), engine="numba", roll=roll)(p, measured)
    np.testing.assert_allclose(ours, expected, rtol=1e-10)
    steps = [(_unscented(p + h, measured) - _unscented(p - h, measured)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(expected, steps, rtol=1e-6)


@pytest.mark.long
def test_a_wave_whose_arrays_change_places() -> None:
    def program(u: Any, v: Any) -> Any:
        for _ in range(40):
            u[1:-1] = 2 * v[1:-1] - u[1:-1] + 0.3 * (v[2:] - 2 * v[1:-1] + v[:-2])
            u, v = v, u
        return np.sum(v**2) + np.sum(u[1:] * v[:-1])

    loss = lambda u, v: program(u.copy(), v.copy())
    u, v = np.random.default_rng(0).random((2, 9))
    expected = fg.grad(loss, argnums=(0, 1))(u, v)
    for roll in (False, True):
        found = fg.jit(fg.grad(loss, argnums=(0, 1)), engine="numba", roll=roll)(u, v)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
