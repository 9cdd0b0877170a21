"""Random loops in the ways that people write them, over states of many kinds.

Loops go over ranges up and down, over lists and arrays of numbers, over the rows of several arrays at once; they are
`while` loops on Python's numbers; they leave early, or leave out rounds; inner ranges depend on the outer round. States
are numbers, vectors, tables that are changed in place, complex and integer arrays, lists, dicts, and functions that
refer to them. Rounds call transforms. `tests.laws.fuzz.loops` checks the programs.
"""

from __future__ import annotations

import re
from random import Random

from tests.laws.fuzz.loops import Looping

# Each loop binds ``t``, which is below ``n`` and not negative.
_HEADERS = (
    ("for t in range(n):",),
    ("for t in range(1, n):",),
    ("for t in reversed(range(n)):",),
    ("for t in range(n - 1, 0, -1):",),
    ("for t in range(0, n, 2):",),
    ("for t, xt in enumerate(x):",),
    ("for t, (xt, mt) in enumerate(zip(x, m)):",),
    ("for t, xt, mt in zip(range(n), x[::-1], m):",),
    ("for t, mt in zip(reversed(range(n)), m):",),
    ("for t in [(3 * s + 1) % n for s in range(n)]:",),
    ("for t in np.random.default_rng(1).permutation(n):",),
    ("for t in np.arange(n):",),
    ("t = -1", "while t < n - 1:", "    t += 1"),
    ("low, high = -1, n", "while low < high - 1:", "    low, high = low + 1, high - 1", "    t = high"),
)
_VECTORS = (
    *("u", "u", "u", "m[t]", "m[t]", "m[t - 1]", "m[n - 1 - t]", "m[t, ::-1]", "m[t, k]", "m[t : t + 1][0]", "C[t]"),
    *("d['p']", "hs[-1]", "hs[0]", "z[t]", "z[t - 1]", "z[t % 3]", "z[:3, 1]", "z[::4, t % 3][:3]", "(z[t] * w[t])"),
    *("np.roll(u, 1)", "u[::-1]", "u[k]", "u[[2, 0, 0]]", "np.sort(u)", "np.cumsum(u)", "np.maximum(u, m[t])"),
    *("c.real", "np.imag(c)", "np.abs(c)", "g(u)", "np.where(u > 0.1 * t, u, 0.1 * v)", "np.clip(u, -0.5, 0.5)"),
    *("np.full(3, v)", "np.stack([v, u[0], x[t]])", "np.concatenate([u[1:], u[:1]])", "np.broadcast_to(v, 3)"),
    *(
        "u[np.argsort(u)]",
        "m[j]",
        "m[[t, j]][0]",
        "np.stack(list(last)[-1:])[0]",
        "o.p",
        "sum(m[s] * w[s] for s in range(3))",
    ),
    *("np.ones(3) * w[t]", "(u * (t % 2 == 0))", "m[: t + 1][-1]", "np.diff(np.append(u, v))"),
)
_NUMBERS = (
    *("v", "v", "v", "a", "x[t]", "x[t]", "x[t - 1]", "x[-t - 1]", "w[t]", "0.1 * t", "(1.0 / (t + 1))", "(0.1 * i)"),
    *("u[0]", "u[-1]", "u[t % 3]", "u[np.argmax(u)]", "np.sum(u)", "np.max(u)", "np.mean(m[t])", "np.sum(x[:t])"),
    *("z[t, 1]", "z[:, 2][t]", "np.sum(z[t])", "np.sum(z[:, 0])", "d['q'][0]", "d['q'][-1]", "hs[-1][1]", "g(u)[1]"),
    *(
        "u[j]",
        "m[t, j]",
        "x[j]",
        "(0.1 * j)",
        "o.q",
        "max(t, 3) * 0.1",
        "sum([x[s] for s in range(t, n)])",
        "last[0][1]",
    ),
    *("np.sum(np.abs(c) ** 2)", "np.log1p(v * v)", "np.sqrt(np.sum(u * u) + 0.1)", "len(ys) * 0.1", "np.sum(x[::2])"),
)
# V is replaced by a vector, and N by a number.
_STATEMENTS = {
    "u = np.tanh(V + 0.5 * V)": 14,
    "v = np.tanh(N * N + N)": 8,
    "u, v = np.sin(V) * v, 0.5 * np.cos(v) + 0.1 * N": 3,
    "u, hs[0] = 0.5 * hs[0] + 0.1 * V, u": 4,
    "hs = [*hs[1:], np.sin(V)]": 3,
    "hs = [np.tanh(h + 0.1 * V) for h in hs]": 3,
    "d = {**d, 'p': np.tanh(d['p'] + V)}": 3,
    "d['q'] = [d['q'][-1], np.sin(N)]": 3,
    "d['q'].append(N)": 2,
    "ys.append(V)": 4,
    "c = c * np.exp(1j * N) * 0.9": 3,
    "c = 0.5 * c + 0.1 * np.conj(c) * V + 0.1j * V": 3,
    "c = np.fft.ifft(np.fft.fft(c) * 0.5)": 1,
    "i = i + t % 3": 2,
    "i = i + np.int64(2)": 1,
    "k = k[::-1]": 1,
    "k = (k + t) % 3": 1,
    "z[t] += 0.1 * V": 4,
    "z[t] *= N": 2,
    "z[t] = V": 3,
    "z[:, 1] *= 0.9": 2,
    "z[t, :2] -= 0.1 * V[:2]": 2,
    "z[::2] += 0.01 * V": 2,
    "z[t % 3, 1:] = V[1:] * 0.1": 2,
    "z[t - 1, 0] = z[t, 1] * 0.5 + 0.1 * N": 2,
    "z[:, t % 3] += 0.1 * N": 2,
    "z[1:, 0] = 0.5 * z[:-1, 0]": 2,
    "np.add.at(z, [t, 0], 0.1 * V)": 1,
    "np.multiply(z, 0.9, out=z)": 1,
    "z.T[1] += 0.1 * N": 1,
    "z[t, k] = V * 0.3": 1,
    "row = z[t]; row += 0.1 * V": 2,
    "z[t], z[t - 1] = z[t - 1] * 0.5, z[t] * 0.5": 2,
    "z = z.copy(); z[t, 1] = N": 2,
    "z[z > 1.0] = 0.5": 1,
    "u = u.copy(); u[t % 3] += N": 2,
    "u = u.copy(); u[1:] *= N": 1,
    "g = lambda q, r=V: np.tanh(q + 0.1 * r) * v": 2,
    "u = step(u, V)": 2,
    "j = (j + np.argmax(V)) % 3": 2,
    "j = np.argmin(V)": 1,
    "z[j] += 0.1 * V": 1,
    "z[t, j] = N": 1,
    "o.p, o.q = np.sin(o.p + V), o.q * 0.5 + N": 2,
    "o.p *= N": 1,
    "last.append(np.tanh(V))": 2,
    "last.appendleft(last.pop() * 0.5)": 1,
    "u += 0.1 * V": 2,
    "u *= N": 1,
    "u[:] = np.sin(V)": 1,
    "v += 0.1 * N": 2,
    "hs[0] += 0.1 * V": 2,
    "hs[t % 2] = hs[1 - t % 2] * 0.5": 1,
    "d['p'] *= 0.9": 1,
    "d['p'][1:] = V[:2]": 1,
    "c += 0.1j * V": 1,
    "c[t % 3] *= 0.5j": 1,
    "z[[0, t]] = z[[t, 0]] * 0.9": 1,
    "z[t : t + 2] *= 0.9": 1,
    "z[:t] += 0.01 * N": 1,
    "z[t] = z[t][::-1] * 0.9": 1,
    "z = np.vstack([z[1:], (V)[None]])": 2,
    "z = np.roll(z, 1, axis=0); z[0] = V": 2,
    "u, z[t] = z[t] * 1.0, u": 1,
    "np.copyto(z[t], V)": 1,
    "z = np.where(z > N, z * 0.5, z)": 1,
    "z = np.sort(z, 0)": 1,
    "part = z[1:]; part[t - 1] *= 0.5": 1,
    "u, v = (V, v) if t % 2 else (u * 0.9, N)": 2,
    "u = [q for q in (u, V, hs[0])][t % 3] * 0.9": 1,
    "u = np.tanh(fg.vmap(lambda r: r * u + N)(m[:3])[t % 3])": 2,
    "u = u - 0.1 * fg.grad(lambda q: np.sum(np.sin(q * V) * q))(u)": 2,
    "u = fg.jvp(lambda q: np.tanh(q * V), (u,), (V,))[1]": 1,
    "u = fg.vjp(lambda q: np.tanh(q * V), u)[1](V)[0]": 1,
    "u = fg.jit(lambda q, r: np.tanh(q + r) * a, engine='numpy')(u, V)": 2,
    "u = fg.checkpoint(lambda q: np.sin(q) * V)(u)": 2,
    "u = fg.cond(N > 0.0, lambda q: np.sin(q), lambda q: q * 0.5, u)": 2,
    "u = fg.switch(t % 3, [np.sin, np.cos, lambda q: q * 0.5 * N], u)": 1,
    "u = ruled(u, V)": 2,
    "key, part = fg.random.split(key); u = u + 0.1 * fg.random.normal(part, (3,))": 2,
    "u = u + 0.1 * fg.random.uniform(fg.random.fold_in(key, t), (3,)) * V": 1,
    "u = np.tanh(np.sum(fg.jacobian(lambda q: np.sin(q * V))(u), 0))": 1,
    "v = np.tanh(np.sum(fg.hessian(lambda q: np.sum(np.sin(q) * V * q))(u)))": 1,
    "u = fg.fori_loop(0, 3, lambda step, q: np.tanh(q + 0.1 * step * V), u)": 1,
    "u = fg.scan(lambda q, r: (np.tanh(q + r), q[0]), u, m[:4])[0]": 1,
    "u = fg.stop_gradient(V) * 0.5 + u": 1,
}
_WHEN = ("t == 4", "t % 2", "t < 3", "t > 6", "t in (2, 5)", "t == n - 1")
_RESULTS = (
    *("np.sum(u)", "v", "0.1 * np.sum(z * z)", "0.1 * np.sum(np.abs(c) ** 2)", "np.sum(d['p'])", "sum(d['q'][-2:])"),
    *("np.sum(np.stack(hs) ** 2)", "np.sum(np.cos(z[1:4]))", "np.sum(np.stack([u, *ys]) ** 2)", "np.sum(g(u))"),
    *("np.sum(np.stack(last) ** 2)", "np.sum(o.p) * o.q", "u[j]"),
)
_BEGIN = (
    "    u, v, i, z, c = m[0] * 0.5, a * 0.5, 0, m * 0.1, m[0] + 0.3j * m[1]",
    "    d, hs, ys = {'p': m[1] * 0.2, 'q': [a, x[0]]}, [m[0], m[1] * 0.5], []",
    "    w, C = [0.3 - 0.05 * s for s in range(n)], np.linspace(-1.0, 1.0, 3 * n).reshape(n, 3)",
    "    k = np.array([2, 0, 1])",
    "    j, last, o = np.argmax(u), deque([m[0] * 0.3, m[1]], maxlen=3), Namespace(p=m[1] * 0.1, q=a)",
    "    g, step, key = lambda q: np.sin(q) * v, lambda q, r: np.sin(q + r) * a, fg.random.key(3)",
    "    ruled = fg.custom_vjp(lambda q, r: np.tanh(q) * r)",
    "    ruled.defvjp(lambda q, r: (np.tanh(q) * r, (q, r)), lambda kept, bar: (bar * kept[1] * 0.5, bar * kept[0]))",
)


def states_of(seed: int) -> Looping:
    """Draw a function of a vector, a table of three columns, and a number."""
    rng = Random(f"states {seed}")
    lines = ["def f(x, m, a):  # float32" if rng.random() < 0.15 else "def f(x, m, a):", *_BEGIN]
    for _ in range(1 if rng.random() < 0.7 else 2):
        lines += [f"    {line}" for line in _loop(rng)]
    results = [*rng.sample(_RESULTS, rng.randint(2, 4)), rng.choice(("v", "np.sum(x)", "np.sum(u * m[0])"))]
    return Looping(seed, "\n".join([*lines, f"    return {' + '.join(results)}"]) + "\n", "states.states_of")


def _loop(rng: Random) -> list[str]:
    header = rng.choice(_HEADERS)
    body = [line for _ in range(rng.randint(1, 4)) for line in _statement(rng)]
    if rng.random() < 0.25:
        inner = rng.choice(("range(3)", "range(3)", "range(t)", "range(t, n)", "range(min(t, 3))", "range(t % 2, 5)"))
        some = [line for _ in range(rng.randint(1, 2)) for line in _statement(rng)]
        some = [re.sub(r"\bt\b", lambda found: "s" if rng.random() < 0.4 else found[0], line) for line in some]
        body += [f"for s in {inner}:", *[f"    {line}" for line in some]]
    kind = rng.random()
    if kind < 0.08:
        body.insert(0, "if t == 6: break")
    elif kind < 0.16:
        body.insert(0, "if t % 4 == 1: continue")
    for name, value in (("xt", r"\bx\[t\]"), ("mt", r"\bm\[t\]")):
        if name in header[0]:
            body = [re.sub(value, name, line) for line in body]
    return [*header, *[f"    {line}" for line in body]]


def _statement(rng: Random) -> list[str]:
    if rng.random() < 0.1:
        return [f"if {rng.choice(_WHEN)}:", f"    {_line(rng)}", *rng.choice(([], ["else:", f"    {_line(rng)}"]))]
    return [_line(rng)]


def _line(rng: Random) -> str:
    (line,) = rng.choices(list(_STATEMENTS), list(_STATEMENTS.values()))
    line = re.sub(r"\bV\b", lambda _: _scaled(rng, rng.choice(_VECTORS)), line)
    return re.sub(r"\bN\b", lambda _: _scaled(rng, rng.choice(_NUMBERS)), line)


def _scaled(rng: Random, value: str) -> str:
    """Return a vector or a number, or a product with a number."""
    return value if rng.random() < 0.6 else f"({rng.choice(('0.5', 'a', 'v', 'w[t]', '0.1 * t'))} * {value})"
