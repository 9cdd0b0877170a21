"""Expressions for programs that write: new arrays, copies, and possible views. Each is one line.

``{a}`` and ``{b}`` are arrays. The others are drawn for ``a``: ``{numbers}`` of its shape, a ``{mask}`` and
``{integers}`` that select from it, a ``{basic}`` index, a ``{shape}`` of as many elements, its ``{axes}`` in another
order, an ``{axis}``, three ``{rows}``, a quarter turn ``{turns}``, and a number of ``{sections}``.
"""

from __future__ import annotations

NEW = """
np.sin({a})
np.tanh({a}) * 2
{a} * {b}
{a} * 0.5 + {b}
{a} - {numbers}
{a} * {numbers}
{numbers} / (2 + np.cos({a}))
np.zeros_like({a})
np.ones_like({a})
np.full_like({a}, 0.5)
np.zeros_like({a}, dtype=complex)
np.zeros_like({a}, dtype=int)
np.zeros_like({a}, dtype=np.float32)
np.zeros_like({a}, shape=(4,))
{a}.astype(np.float32)
{a} + 1j * {b}
{a}.astype(complex)
{a} * 1j
np.floor({a} * 2)
np.sign({a})
np.round({a})
{a} // 0.3
np.concatenate([{a}, {b}])
np.stack([{a}, {b}])
np.where({a} > 0.2, {a}, {b})
np.where({mask}, {a}, {b})
np.cumsum({a}, axis=-1)
np.sum({a}, axis=0)
np.sum({a})
np.conj({a})
np.abs({a}) ** 2
np.roll({a}, 1)
np.tile({a}, 2)
np.repeat({a}, 2, axis=0)
np.outer({a}, {b})
{a} @ {b}
np.pad({a}, 1)
np.diff({a})
np.hstack([{a}, {b}])
np.atleast_2d({a}) * 1
np.kron({a}, [1.0, 2.0])
np.triu({a})
-{a}
np.maximum({a}, {b})
np.mean({a}, axis=0, keepdims=True)
np.vstack([{a}, {b}]).T.copy()
np.dot({a}, {b})
np.take({a}, {rows}, axis=0)
np.round({a}, 1) + {a}
np.prod({a} + 2, axis=-1)
np.insert({a}, 1, 0.5)
np.append({a}, {b})
np.delete({a}, 0)
np.broadcast_to({a}, (2, *{a}.shape)) * 1
np.diagflat({a})
"""

COPIES = """
{a}.copy()
np.copy({a})
{a}.flatten()
{a}.astype(float)
{a}.astype({a}.dtype)
{a}[{integers}]
{a}[{mask}]
{a}[{a} > 0.1]
{a}[True]
np.sort({a}, axis=-1)
np.concatenate([{a}])
np.roll({a}, 0)
np.where(True, {a}, {a})
np.reshape({a}, {shape}, copy=True)
np.tile({a}, 1)
np.repeat({a}, 1, axis=0)
np.triu({a}, -9)
np.nan_to_num({a})
np.clip({a}, -99, 99)
np.conj({a})
+{a}
np.positive({a})
np.sum({a}, axis=())
np.pad({a}, 0)
np.diff({a}, n=0)
np.cumsum({a}, axis=0)
np.linalg.matrix_power({a}, 1)
np.take({a}, range(len({a}) or 1), axis=0)
{a}.take(range(len({a}) or 1), axis=0)
np.mean({a}[None], axis=0)
np.max({a}[None], axis=0)
np.stack([{a}])
np.block([{a}])
np.hstack([{a}])
{a}.clip(-99, 99)
{a}.repeat(1, axis=0)
np.squeeze({a}).copy()
np.fmax({a}, {a})
np.expm1(np.log1p({a} * 0)) + {a}
np.einsum('...', {a}).copy()
np.append({a}, [])
np.tril({a}).T.copy()
np.select([{mask}], [{a}])
"""

VIEWS = """
{a}[{basic}]
{a}[{basic}]
{a}[{basic}]
{a}[{basic}]
{a}[{basic}]
{a}[{basic}]
{a}[...]
{a}[:]
{a}[None][0]
{a}.view()
{a}.T
{a}.mT
np.transpose({a}, {axes})
{a}.transpose({axes})
np.permute_dims({a}, {axes})
np.matrix_transpose({a})
{a}.reshape(-1)
{a}.reshape({shape})
np.reshape({a}, {shape})
np.reshape({a}, {shape}, order='F')
{a}.ravel()
np.ravel({a})
{a}.ravel(order='F')
np.swapaxes({a}, 0, -1)
{a}.swapaxes(-1, 0)
np.moveaxis({a}, 0, -1)
np.rollaxis({a}, {axis})
np.expand_dims({a}, {axis})
np.squeeze({a})
{a}.squeeze()
np.squeeze({a}[None], 0)
np.flip({a})
np.flip({a}, {axis})
np.flipud({a})
np.fliplr({a})
np.rot90({a}, {turns})
np.diagonal({a})
{a}.diagonal(1)
np.diag({a})
np.broadcast_to({a}, (2, *{a}.shape))
np.broadcast_arrays({a}, {a})[0]
{a}.real
np.real({a})
{a}.real[{basic}]
np.split({a}, {sections})[0]
np.split({a}, [1, 2])[1]
np.array_split({a}, 2)[1]
np.hsplit({a}, [1])[1]
np.vsplit({a}, [1])[-1]
np.unstack({a})[0]
list({a})[-1]
np.atleast_1d({a})
np.atleast_2d({a})
np.atleast_3d({a})
np.einsum('ij->ji', {a})
np.einsum('ii->i', {a} if {a}.size else None)
np.einsum('iji->ij', {a} if {a}.size else None)
np.einsum('ijk->kij', {a})
np.einsum('i...->i...', {a})
{a}.astype({a}.dtype, copy=False)
np.astype({a}, {a}.dtype, copy=False)
"""

# For real arrays these are zeros that cannot be written to.
COMPLEX_VIEWS = """
{a}.imag
np.imag({a})
{a}.imag[{basic}]
{a}.real
{a}.conj()
"""

CREATING, COPYING, VIEWING, OF_COMPLEX = (text.split("\n")[1:-1] for text in (NEW, COPIES, VIEWS, COMPLEX_VIEWS))

LOOPS = (
    "for k in range(1, {n}):\n    {a}[k] = np.sin({a}[k - 1]) * 0.5 + {b}[k]",
    "for k in range({n}):\n    {a}[k] *= np.sum({b}) * 0.2",
    "for k in range({n}):\n    {a}[{n} - 1 - k] += {a}[k] * 0.3",
    "for row in {a}:\n    row *= 0.5\n    row += {b}[0]",
    "for k in range({n}):\n    {a}[k:] = {a}[k:] * 0.9 + {a}[: {n} - k] * 0.1",
    "for row in {a}.reshape({n}, -1):\n    row[0] = row[-1] * 1.5",
    "for k, value in enumerate({b}):\n    {a}[k % {n}] -= value * 0.5",
    "k = 0\nwhile k < {n} and np.max(np.abs({b})) > 0.2:\n    {b}[...] *= 0.5\n    {a}[k] += 1\n    k += 1",
)
CALLS = (
    "bump({a}, {b})",
    "bump({a}[{basic}], 0.5)",
    "{new} = mirrored({a})",
    "{new} = fill_rows({a}, {b})",
    "swap({a}, {i}, {j})",
    "{a}[{i}], {a}[{j}] = {a}[{j}], {a}[{i}]",
    "{a}[{i}], {a}[{j}] = {a}[{j}].copy(), {a}[{i}].copy()",
    "{a}, {b} = {b}, {a}",
    "np.add({a}, {b}, out={a})",
    "np.multiply({a}, {numbers}, out={a}, where={mask})",
    "{new} = np.sin({a}, out={a})",
    "np.subtract({a}[::-1], {a}, out={a})",
    "np.cumsum({a}, axis=0, out={a})",
    "np.clip({a}, -0.5, 0.5, out={a})",
    "np.sum({b}, axis=0, out={a}[{i}])",
    "np.dot({a}, np.eye(3), out={a})",
    "np.add.at({a}, {rows}, 0.5)",
    "np.add.at({a}, {rows}, {b}[{i}] * 0.1)",
    "np.multiply.at({a}, ({integers}), 0.5)",
    "np.subtract.at({a}, {mask}, np.sum({b}) * 0.1)",
    "np.copyto({a}, {b} * 1)",
    "np.copyto({a}, {b} * 1, where={mask})",
    "np.copyto({a}, {b} * 1, where={a} > 0.2)",
    "{a}[{a} > 0.2] = np.sin({a}[{a} > 0.2]) * 0.5 + np.sum({b})",
    "{a}[np.abs({a}) < 0.5] **= 2",
    "np.put({a}, {rows}, {b}.ravel()[:3] * 1)",
    "np.putmask({a}, {mask}, {b} * 0.5)",
    "np.place({a}, {mask}, {b}.flatten())",
    "np.put_along_axis({a}, np.zeros((1,) + {a}.shape[1:], int), {b}[:1] * 0.5, 0)",
    "np.fill_diagonal({a}, 0.25)",
    "np.fill_diagonal({a}, {b}.flatten()[:3])",
    "{a}.fill(0.75)",
    "{a}.fill(np.sum({b}) * 0.1)",
    "{a}.sort(axis=0)",
    "{a}.flat[{i}:] = {b}.ravel()[0]",
    "{a}.flat = {b} * 1",
    "{a}.T.flat[{i}] = np.sum({b}) * 0.1",
    "np.nan_to_num({a}, copy=False)",
    "{a}[{a} != {a}] = 0.5",
    "np.copyto({a}, 0.25, where=np.isnan({a}))",
)

# Values without axes: another name of a number keeps the number, another name of an array shows the write.
_NUMBERS = """
np.median({a})
np.quantile({a}, 0.3)
np.nanmax({a})
np.inner({a}.ravel(), {a}.ravel())
np.einsum('i,i->', {a}.ravel(), {a}.ravel())
np.max({a})
{a}.mean()
np.nan_to_num(np.sum({a}))
np.interp(np.sum({a}) * 0.01, [-1.0, 2.0], [0.5, 1.5])
np.ravel({a})[{i}]
np.where(np.sum({a}) > 0, np.sum({a}), 1.5)
np.tensordot({a}.ravel(), {a}.ravel(), 1)
np.squeeze(np.ravel({a})[:1])
np.copy(np.sum({a}))
np.ravel({a})[{i}, ...]
np.var({a})
"""
NUMBERS = [f"{{new}} = {text}\nother = {{new}}\nother += 0.5" for text in _NUMBERS.split("\n")[1:-1]]
# Arrays without axes, new or views, and the ways to write to them. Another name shows the write, and so does the base.
_ZERO_D = """
np.array(0.5, like={a})
np.zeros_like(np.sum({a}))
np.asarray(np.sum({a}) * 0.1, like={a})
np.full_like({a}, 0.25, shape=())
np.copy(np.ravel({a})[0])
{a}.ravel()[{i}, ...]
np.squeeze({a}.ravel()[:1])
{a}.reshape(-1)[-1:].reshape(())
np.ravel({a})[..., {i}, None][..., 0]
"""
_ZERO_D_WRITES = """
{new}[...] = np.sum({b}) * 0.1
{new}[()] += 0.5
{new} += np.sum({b}) * 0.1
{new} *= {new}
{new}.fill(np.sum({b}) * 0.1)
{new}.flat[0] = np.sum({b}) * 0.1
np.copyto({new}, np.sum({b}) * 0.1)
np.add({new}, np.sum({b}) * 0.1, out={new})
np.sum({b}, out={new})
np.add.at({new}, (), 0.5)
{new}[None][0] = np.sum({b}) * 0.1
{new}.reshape(1)[:] *= 0.5
{new}[np.array(True)] = 0.75
{new}[{new} > 0.1] = np.sum({b}) * 0.1
np.put({new}, 0, np.sum({b}) * 0.1)
np.putmask({new}, np.array(True), 0.25)
{new}[..., None].fill(np.sum({b}) * 0.1)
"""
NUMBERS += [
    f"{{new}} = {text}\nother = {{new}}\n{write}\nother[...] *= 0.5"
    for k, text in enumerate(_ZERO_D.split("\n")[1:-1])
    for write in _ZERO_D_WRITES.split("\n")[1:-1][k % 2 :: 2]
]
# Integers that are known when the program runs, if there are numbers.
NUMBERS += [
    "k = np.argmax({b}) % {n}\nrow = {a}[k]\nrow *= 0.5",
    "k = np.argmin({b}) % {n}\nrow = {a}[k, ...]\n{a}[k] += 0.25\n{new} = row * 1",
    "k = np.argmax({b}) % {n}\n{a}[k] *= 0.5\n{new} = {a}[k]",
    "k = np.argsort({b}.ravel())[0] % {n}\ncolumn = {a}.T[..., k]\ncolumn[...] = {b}.ravel()[0]",
    "k = np.argmax({b}) % {n}\n{new} = {a}[k]\n{a}[k - 1] = {new} * 0.5\n{new}[...] = 0.75",
]
