"""Samplers of operations that move elements: shapes, joins, splits, indices, new arrays."""

from __future__ import annotations

from tests.laws.fuzz.draw import Draw, is_bool, is_real
from tests.laws.fuzz.table import op


@op("reshape", 1.5)
def _reshape(d: Draw) -> str:
    x = d.name()
    size = d.value(x).size
    shape = list(d.shape_for(size))
    if shape and size and d.chance(0.3):
        shape[d.integer(0, len(shape) - 1)] = -1
    order = d.one("", "", "", ", order='F'")
    return d.one(f"np.reshape({x}, {tuple(shape)}{order})", f"{x}.reshape({tuple(shape)}{order})", f"{x}.reshape(-1)")


@op("flat", 1)
def _flat(d: Draw) -> str:
    x = d.name()
    return d.one(
        f"np.ravel({x})", f"{x}.ravel()", f"{x}.flatten()", f"np.ravel({x}, order='F')", f"np.copy({x})", f"{x}.copy()"
    )


@op("transpose", 1)
def _transpose(d: Draw) -> str:
    x = d.array()
    ndim = d.value(x).ndim
    axes = tuple(d.rng.sample(range(ndim), ndim))
    return d.one(
        f"{x}.T",
        f"np.transpose({x}, {axes})",
        f"{x}.transpose({axes})",
        f"np.swapaxes({x}, {d.axis(d.value(x))}, 0)",
        f"np.moveaxis({x}, {d.axis(d.value(x))}, {d.axis(d.value(x))})",
        f"np.rollaxis({x}, {d.axis(d.value(x))})",
        f"np.matrix_transpose({x})",
        f"{x}.mT",
    )


@op("axes", 1)
def _axes(d: Draw) -> str:
    x = d.name()
    ndim = d.value(x).ndim
    return d.one(
        f"np.expand_dims({x}, {d.integer(-ndim - 1, ndim)})",
        f"np.squeeze({x})",
        f"{x}.squeeze()",
        f"np.atleast_{d.integer(1, 3)}d({x})",
        f"np.expand_dims({x}, (0, -1))",
    )


@op("broadcast_to", 0.8)
def _broadcast_to(d: Draw) -> str:
    x = d.name()
    shape = tuple(d.integer(1, 3) if n == 1 else n for n in d.value(x).shape)
    return f"np.broadcast_to({x}, {d.one((), (1,), (2,)) + shape})"


@op("broadcast_arrays", 0.3)
def _broadcast_arrays(d: Draw) -> str:
    x = d.name()
    return f"np.broadcast_arrays({x}, {d.beside(x)})[{d.integer(0, 1)}]"


@op("flip", 1)
def _flip(d: Draw) -> str:
    x = d.array()
    v = d.value(x)
    shift = d.one(str(d.integer(-3, 3)), "0")
    return d.one(
        f"np.flip({x}, {d.axes(v)})",
        f"np.roll({x}, {shift}, {d.one(None, d.axis(v))})",
        f"np.flipud({x})",
        f"np.rot90({x}, {d.integer(-1, 4)})",
        f"np.roll({x}, (1, -1), (0, -1))",
        f"np.fliplr({x})",
    )


@op("repeat", 0.7)
def _repeat(d: Draw) -> str:
    x = d.name()
    v = d.value(x)
    times = d.integer(0 if d.style.empty else 1, 2)
    axis = d.one("None", str(d.axis(v))) if v.ndim else "None"
    return d.one(
        f"np.repeat({x}, {times}, axis={axis})",
        f"np.tile({x}, {d.one(times, (times,), (2, 1), ())})",
        f"{x}.repeat({times})",
    )


@op("concatenate", 1.5)
def _concatenate(d: Draw) -> str:
    x = d.array()
    axis = d.axis(d.value(x))
    rest = [d.one(x, d.array(), d.constant(d.value(x).shape)) for _ in range(d.integer(0, 2))]
    parts = [x, *rest]
    d.rng.shuffle(parts)
    dtype = d.one("", "", "", ", dtype=np.float64", ", dtype=np.complex128, casting='unsafe'")
    return f"np.concatenate([{', '.join(parts)}], axis={d.one(axis, axis, None)}{dtype})"


@op("stack", 1.5)
def _stack(d: Draw) -> str:
    x = d.name()
    v = d.value(x)
    parts = [x, *[d.one(x, d.name(lambda y: y.shape == v.shape), d.constant(v.shape)) for _ in range(d.integer(0, 2))]]
    if not v.ndim and d.chance(0.3):
        parts.append(d.number())
    d.rng.shuffle(parts)
    name = d.one("stack", "hstack", "vstack", "dstack", "column_stack", "stack")
    axis = f", axis={d.integer(-v.ndim - 1, v.ndim)}" if name == "stack" else ""
    return f"np.{name}([{', '.join(parts)}]{axis})"


@op("append", 0.6)
def _append(d: Draw) -> str:
    x = d.array()
    inserted = d.one("0", "-1", "[0, 1]")
    # A fraction among Python integers, which are NumPy's here, is cut off as NumPy does it.
    put = d.integer(-3, 3) if d.value(x).dtype == object else d.number()
    return d.one(
        f"np.append({x}, {d.one(d.number(), d.name())})",
        f"np.insert({x}, {inserted}, {put}, axis={d.one(None, d.axis(d.value(x)))})",
        f"np.delete({x}, {d.one('0', '-1', '[0]', 'slice(0, 1)')}, axis={d.one(None, d.axis(d.value(x)))})",
        f"np.block([{x}, {x}])",
        f"np.block([[{x}, {d.number()}]])",
    )


@op("split", 0.7)
def _split(d: Draw) -> str:
    x = d.array()
    return d.one(
        f"np.array_split({x}, {d.integer(1, 3)}, axis={d.axis(d.value(x))})[0]",
        f"np.split({x}, [1], axis={d.axis(d.value(x))})[-1]",
        f"np.{d.one('hsplit', 'vsplit', 'dsplit')}({x}, 1)[0]",
        f"np.unstack({x}, axis={d.axis(d.value(x))})[0]",
    )


@op("pad", 0.6)
def _pad(d: Draw) -> str:
    x = d.array()
    width = d.one("1", "(1, 0)", "0", "((0, 2),)", str([[d.integer(0, 1), d.integer(0, 2)] for _ in d.value(x).shape]))
    mode = d.one(
        "",
        f", constant_values={d.number()}",
        ", mode='edge'",
        ", mode='wrap'",
        ", mode='reflect'",
        ", mode='symmetric'",
        ", mode='constant'",
    )
    return f"np.pad({x}, {width}{mode})"


@op("index", 5)
def _index(d: Draw) -> str:
    x = d.array()
    return f"{x}[{d.index(d.value(x))}]"


@op("index of a number", 0.3)
def _index_scalar(d: Draw) -> str:
    return f"{d.name(lambda x: x.ndim == 0)}[{d.one('()', '...', 'None', 'None, ...', 'True', '..., None')}]"


@op("mask", 0.7)
def _mask(d: Draw) -> str:
    x = d.array()
    return d.one(
        f"{x}[{x} > {d.one('0', '0.5', '-1')}]",
        f"{x}[np.isfinite({x})]",
        f"np.extract({x} > 0, {x})",
        f"{x}[{x} != {x}]",
    )


@op("index by a value", 0.8)
def _index_by_value(d: Draw) -> str:
    x = d.array(1, lambda v: v.shape[0] > 0)
    n = d.value(x).shape[0]
    i = d.name(lambda v: v.dtype.kind in "iu" and (v.size == 0 or (-n <= v.min() and v.max() < n)))
    take = (f"np.take({x}, {i}, axis=0)", f"np.take({x}, {i}, axis=0, mode='clip')")
    # A computed number selects a view, and an array without axes a copy. The check does not ask which one it is.
    return d.one(*take, *([f"{x}[{i}]", f"{x}[{i}, ...]"] if d.value(i).ndim or i.startswith("a") else []))


@op("take", 1)
def _take(d: Draw) -> str:
    x = d.array()
    axis = d.axis(d.value(x))
    i = d.integers_text(d.value(x).shape[axis])
    i = d.one(i, str(d.integer(0, d.value(x).shape[axis] - 1)))
    return d.one(
        f"np.take({x}, {i}, axis={axis})",
        f"np.take({x}, {i}, axis={axis}, mode='wrap')",
        f"{x}.take({i}, {axis})",
        f"np.take_along_axis({x}, np.argsort({x}, axis={axis}), axis={axis})",
    )


@op("compress", 0.3)
def _compress(d: Draw) -> str:
    x = d.array()
    axis = d.axis(d.value(x))
    return f"np.compress({[d.chance(0.5) for _ in range(d.value(x).shape[axis])]}, {x}, axis={axis})"


@op("nonzero", 0.3)
def _nonzero(d: Draw) -> str:
    x = d.array()
    return d.one(
        f"np.nonzero({x})[0]",
        f"np.flatnonzero({x})",
        f"np.argwhere({x})",
        f"np.where({x})[-1]",
        f"np.count_nonzero({x})",
    )


@op("like", 0.7)
def _like(d: Draw) -> str:
    x = d.name()
    return d.one(
        f"np.zeros_like({x})",
        f"np.ones_like({x})",
        f"np.full_like({x}, {d.number()})",
        f"np.full_like({x}, {d.number()}, dtype=float)",
        f"np.ones_like({x}, dtype=np.float32)",
    )


@op("new", 0.6)
def _new(d: Draw) -> str:
    return d.one(
        "np.arange(3)",
        "np.arange(3.0)",
        "np.eye(2)",
        "np.ones((2, 1))",
        f"np.full((2,), {d.number()})",
        "np.zeros(3)",
        "np.linspace(0, 1, 3)",
        "np.tri(3)",
        f"np.array([{d.number()}, {d.number()}])",
        "[0.5, 2.0]" + " + [1]",
    )


@op("linspace", 0.4)
def _linspace(d: Draw) -> str:
    x = d.name()
    ends = [x, d.beside(x)]
    d.rng.shuffle(ends)
    return f"np.linspace({ends[0]}, {ends[1]}, {d.integer(0, 4)}{d.one('', ', endpoint=False')})"


@op("triangle", 0.6)
def _triangle(d: Draw) -> str:
    x = d.array(1, most=3)
    k = d.integer(-2, 2)
    return d.one(f"np.tril({x}, {k})", f"np.triu({x}, {k})", f"np.diag({x}, {k})", f"np.diagflat({x}, {k})")


@op("meshgrid", 0.2)
def _meshgrid(d: Draw) -> str:
    x = d.array(0, most=1)
    return f"np.meshgrid({x}, {x}{d.one('', ', indexing=' + repr('ij'))})[{d.integer(0, 1)}]"


@op("asarray", 0.3)
def _asarray(d: Draw) -> str:
    """Draw arrays of objects with traced numbers: only doubles, and operations that loop over objects."""
    x = d.array(1, lambda x: x.dtype == float and x.size > 0)
    objects = d.one(
        f"np.sum([{x}, {x}], axis=0)",
        f"np.exp(np.array([{x}, {x}]))",
        f"np.array([{x}[0], {x}[-1]])",
        f"np.asarray({x}) * 2.0",
        f"np.sqrt(np.abs(np.array([{x}])) + 1)",
    )
    # An operation with a traced value gives an array of numbers again.
    return f"np.sum({x}) * 0.0 + {objects}"


@op("loop", 0.4)
def _loop(d: Draw) -> str:
    x = d.array(1, is_real)
    return d.one(
        f"sum({x})",
        f"[r * 2 for r in {x}][-1]",
        f"sum(r * i for i, r in enumerate({x}))",
        f"len({x}) * {x}",
        f"sum({x}, 1)",
    )


@op("bool reductions of masks", 0.2)
def _bools(d: Draw) -> str:
    return f"np.{d.one('sum', 'mean', 'cumsum', 'prod', 'max', 'diff')}({d.name(is_bool)})"
