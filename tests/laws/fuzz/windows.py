"""Random loops over moving windows of vectors, and random loops that write to slices.

`windows_of` reads windows with steps, hops and offsets, forward and backward, some of them reversed. `slices_of` sets,
adds to and keeps slices of a few arrays, which change places from round to round. `tests.laws.fuzz.loops` checks them.
"""

from __future__ import annotations

from random import Random

from tests.laws.fuzz.loops import Looping

# Windows read x, another vector of data, and a vector that is made before the loop.
_READ = ("x", "x", "d", "z")


def windows_of(seed: int) -> Looping:
    """Draw a function of the weights of a window and of two vectors."""
    rng = Random(f"windows {seed}")
    size, step = rng.randint(1, 5), rng.choice((1, 1, 1, 2, 3, -1, -1, -2))
    hop, order = rng.choice((1, 1, 1, 2)), rng.choice(("range(n)", "range(n)", "range(n - 1, -1, -1)"))
    body = [_round(rng, size, step) for _ in range(rng.randint(1, 3))]
    lines = ["def f(w, x, d):", "    z, s, ys = np.sin(x) * 2, 0.0, [x[0]]", f"    for t in {order}:"]
    lines += [f"        p = t * {hop}" if hop > 1 else "        p = t"]
    if rng.random() < 0.15:
        lines += ["        if t == 3:", "            s = s * 1.5"]
    if rng.random() < 0.1:
        lines += ["        if t % 4 == 2:", f"            {rng.choice(('continue', 's = s * 0.5'))}"]
    lines += [f"        {line}" for line in body]
    after = rng.choice(("", "", f" + np.sum({rng.choice('xz')} ** 2)"))
    last = f"    return s + np.sum(w) + np.sum(np.stack(ys) ** 2){after}"
    return Looping(seed, "\n".join([*lines, last]) + "\n", "windows.windows_of", size)


def _window(rng: Random, size: int, step: int) -> str:
    """Draw a window of ``size`` elements, in one of the ways to write it."""
    read, span, kind = rng.choice(_READ), (size - 1) * abs(step) + 1, rng.random()
    low = f"p + {rng.randint(0, 2)}"
    if kind < 0.1:
        text = f"{read}[{low} + {step if step > 0 else 1} * np.arange({size})]"
    elif step > 0:
        text = f"{read}[{low} : {low} + {span} : {step}]"
    elif kind < 0.4:
        text = f"np.flip({read}[{low} : {low} + {span}], 0)[::{-step}]"
    else:
        text = f"{read}[{low} + {span - 1} : ({low} - 1 if {low} > 0 else None) : {step}]"
    return f"{text}[::-1]" if rng.random() < 0.3 else text


def _vector(rng: Random, size: int, step: int) -> str:
    window = _window(rng, size, step)
    return rng.choices((window, "w", f"({window} * w)"), (6, 2, 2))[0]


def _number(rng: Random, size: int, step: int) -> str:
    kind = rng.random()
    if kind < 0.35:
        return f"({_vector(rng, size, step)} @ {_vector(rng, size, step)})"
    if kind < 0.6:
        return f"np.{'sum' if kind < 0.5 else 'max'}({_vector(rng, size, step)})"
    return f"{rng.choice(_READ)}[p + {rng.randint(0, 3)}]" if kind < 0.85 else "s"


def _round(rng: Random, size: int, step: int) -> str:
    kind, number = rng.random(), lambda: _number(rng, size, step)
    if kind < 0.55:
        return f"s = np.tanh(0.5 * s + 0.3 * {number()} * {number()} + {number()})"
    if kind < 0.75:
        return f"w = w * 0.9 + 0.1 * {_vector(rng, size, step)} * s"
    if kind < 0.85:
        return f"z = z.copy(); z[p : p + {size}] = {_vector(rng, size, step)} * 0.5"
    return f"ys.append(s + {number()})"


def slices_of(seed: int) -> Looping:
    """Draw a function of three arrays. Each round writes to slices of copies of them, and may exchange the copies."""
    rng = Random(f"slices {seed}")
    axes = rng.randint(1, 2)
    lengths = [rng.randint(6, 30) if axes == 2 else rng.choice((9, 60, 700, 1500)) for _ in range(axes)]
    lines = ["def f(*arrays):", "    c, kept = [a.copy() for a in arrays], None", "    for t in range(n):"]
    for _ in range(rng.randint(1, 4)):
        lines += [f"        {line}" for line in _write(rng, lengths)]
    if rng.random() < 0.6:
        order = rng.sample(range(3), 3)
        lines += [f"        c = [{', '.join(f'c[{i}]' for i in order)}]"]
    return Looping(
        seed,
        "\n".join([*lines, "    return sum([np.sum(np.cos(x) * x) for x in c])"]) + "\n",
        "windows.slices_of",
        tuple(lengths),
    )


def _write(rng: Random, lengths: list[int]) -> list[str]:
    """Draw the lines that write to one slice. All slices that they read have its shape."""
    read = [max(1, m - rng.randint(0, 3)) for m in lengths]
    if rng.random() < 0.2:
        read = [rng.randint(1, m - 1) for m in lengths]

    def part() -> str:
        starts = [rng.randint(0, m - count) for m, count in zip(lengths, read, strict=True)]
        return ", ".join([f"{start}:{start + count}" for start, count in zip(starts, read, strict=True)])

    terms = [f"{rng.choice((0.3, -0.2, 0.1))} * c[{rng.randrange(3)}][{part()}]" for _ in range(rng.randint(1, 4))]
    value, to, other = " + ".join(terms), f"c[{rng.randrange(3)}]", f"c[{rng.randrange(3)}]"
    here, there = f"{to}[{part()}]", f"{other}[{part()}]"
    return rng.choice(
        (
            [f"{here} = {value}"],
            [f"{here} = {value}"],
            [f"{here} += {value}"],
            [f"{here} = np.tanh({here}) + {value}"],
            [f"kept = {here} * 1.5", f"{there} = kept + {value}"],
            [f"view = {here}", f"{to} = {to}.copy()", f"{here} = {value}", f"{there} += 0.1 * view"],
            [f"{to}, {other} = {other}, {to}"],
            [f"{to} = 0.5 * {to} + 0.1 * np.sin({other})"],
        )
    )
