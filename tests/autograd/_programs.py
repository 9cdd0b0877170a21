"""Programs, refused calls and printed values that run on PyTorch's tensors and on ours.

Each is written once. A program takes leaves and returns a tensor; a call takes the library's ``autograd``, its
``tensor`` and its optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[..., Any]
Call = Callable[[Any, Any, Any], Any]
Make = Callable[[np.ndarray], Any]

PROGRAMS: dict[str, tuple[Program, tuple[tuple[int, ...], ...]]] = {
    "polynomial": (lambda a, b: 3 * a**3 - b**2, ((2,), (2,))),
    "broadcast": (lambda a, b: a * b + b / (2 + a * a), ((3, 2), (2,))),
    "matmul": (lambda a, b: (a @ b) @ b.T, ((3, 2), (2, 4))),
    "matmul of vectors": (lambda a, b: (a @ b) * a, ((3,), (3,))),
    "matmul of stacks": (lambda a, b: a @ b, ((2, 3, 2), (2, 2, 4))),
    "used twice": (lambda a: a * a + a, ((3,),)),
    "same gradient for two": (lambda a, b: a + b, ((3,), (3,))),
    "index": (lambda a: a[0] * a[1] + a[-1], ((4,),)),
    "slices": (lambda a: a[:, 1:] * a[:, :-1], ((3, 4),)),
    "rows by number": (lambda a: a[[0, 2, 0]] ** 2, ((3, 2),)),
    "rows by truth": (lambda a: a[a > 0] ** 2, ((6,),)),
    "sum over an axis": (lambda a: a.sum(1) ** 2, ((3, 4),)),
    "kept axis": (lambda a: a / a.exp().sum(1, keepdim=True), ((3, 4),)),
    "mean": (lambda a: (a - a.mean()) ** 2, ((5,),)),
    "mean over an axis": (lambda a: (a - a.mean(0)) ** 2, ((5, 2),)),
    "reshape": (lambda a: a.reshape(2, 3) @ a.reshape(3, 2), ((6,),)),
    "scalar": (lambda a: a * a * 2.5, ((),)),
    "methods": (lambda a: a.exp() + a.tanh() - a.sin() * a.cos(), ((3,),)),
    "roots and logarithms": (lambda a: (a * a + 1).log() + (a * a + 2).sqrt(), ((3,),)),
    "absolute values": (lambda a: abs(a) * a, ((5,),)),
    "cumulative": (lambda a: a.cumsum(0) * a.prod(), ((4,),)),
    "clone": (lambda a: a.clone() * 3, ((3,),)),
    "power of tensors": (lambda a, b: (a * a + 1) ** b, ((3,), (3,))),
    "numbers to a power": (lambda a: 2.0**a, ((3,),)),
    "from the right": (lambda a: 1 - a + 2 / (3 + a * a), ((3,),)),
    "negative": (lambda a: -a + 1 - a, ((2, 1),)),
    "arithmetic by name": (lambda a, b: a.mul(2).add(b, alpha=0.5).div(b.pow(2).add(1)).sub(a.neg()), ((3,), (3,))),
    "activations": (lambda a: a.sigmoid() + a.relu() * a.softmax(1) - a.log_softmax(-1), ((3, 4),)),
    "axes by name": (lambda a: a.transpose(0, 1).unsqueeze(1).expand(-1, 2, -1).permute(2, 0, 1) ** 2, ((3, 4),)),
    "masks and bounds": (lambda a: a.masked_fill(a > 1, 0.5).clamp(min=-1).mm(a.t()).norm(), ((3, 4),)),
    "views": (lambda a: a.view(2, 3).matmul(a.view_as(a.detach().reshape(3, 2))).contiguous(), ((6,),)),
    "cut": (lambda a: a * (a * 2).detach(), ((3,),)),
    "loop": (lambda a: sum((a * i).sin() for i in range(5)), ((3,),)),
}


def leaves_of(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(ord, name)))
    return [rng.standard_normal(shape) for shape in PROGRAMS[name][1]]


def derivatives(make: Make, grad: Callable[..., Any], name: str) -> list[np.ndarray]:
    """Return value, gradients, and gradients of the gradients' weighted sum; zeros if nothing depends on a leaf."""
    leaves = [make(x) for x in leaves_of(name)]
    y = PROGRAMS[name][0](*leaves)
    weights = [make(np.cos(np.arange(np.prod(x.shape, dtype=int))).reshape(x.shape)).detach() for x in [y, *leaves]]
    firsts = grad((y * weights[0]).sum(), leaves, create_graph=True)
    total: Any = sum((first * weight).sum() for first, weight in zip(firsts, weights[1:], strict=True))
    # PyTorch records nothing if a gradient is constant. Ours may be recorded, with zero derivatives.
    seconds = grad(total, leaves, allow_unused=True) if total.requires_grad else [None] * len(leaves)
    found = [y, *firsts, *[leaf * 0 if bar is None else bar for leaf, bar in zip(leaves, seconds, strict=True)]]
    return [np.asarray(x.detach().numpy()) for x in found]


def accumulated(make: Make, name: str) -> list[np.ndarray]:
    """Return the gradients of the leaves after four passes, two of them through one graph."""
    leaves = [make(x) for x in leaves_of(name)]
    for _ in range(2):
        PROGRAMS[name][0](*leaves).sum().backward()
    y = PROGRAMS[name][0](*leaves).sum()
    y.backward(retain_graph=True)
    y.backward()
    return [leaf.grad.numpy() for leaf in leaves]


def complex_gradients(make: Make, grad: Callable[..., Any]) -> list[np.ndarray]:
    """Return gradients by complex leaves: of real losses, with complex cotangents, of gradients, and cut in two."""
    x, y = make(np.array([1 + 2j, 3 - 1j])), make(np.array([1.0, 2.0]))
    (abs(x) ** 2 * y).sum().backward()
    hidden = x * x * y
    hidden.retain_grad()
    (hidden * hidden.conj()).real.sum().backward()
    (first,) = grad((x * x * x).real.sum(), x, create_graph=True)
    cotangent = make(np.array([1j, 2 + 1j])).detach()
    again = x * x
    (bar,) = grad((again * again).imag.sum(), again, retain_graph=True)
    again.backward(bar)
    found = [x.grad, y.grad, hidden.grad, first, bar, *grad(first.imag.sum(), x), *grad(x * x * y, [x, y], cotangent)]
    return [g.detach().numpy() for g in found]


def asked(make: Callable[[Any], Any]) -> str:
    """Return a text with the answers of a tensor about itself."""
    x = make([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    sizes = [tuple(x.size()), x.size(0), x.size(-1), x.numel(), x.nelement(), x.dim(), x.ndim, len(x)]
    kinds = [y.is_floating_point() for y in (x, x.long(), x.bool(), x.double(), x.half())]
    compared = [y.tolist() for y in (x.eq(2), x.ne(2), x.lt(2), x.le(2), x.gt(2), x.ge(2), x.argmax(dim=1), x.int())]
    return repr([sizes, kinds, compared, x.tolist(), str(x.device), x.cpu() is x, x.is_complex(), f"{x[0, 1]:.2f}"])


RNG = np.random.default_rng(0)
PRINTED: dict[str, Any] = {
    "halves": [1.0, 2.5],
    "integers": [1.0, 2.0],
    "scalar": 3.25,
    "whole scalar": 3.0,
    "not a number": [1.0, float("nan"), float("inf"), -2.5],
    "only infinite": [float("inf"), float("nan")],
    "wide range": [1e-5, 1.0],
    "great": [1e9, 2e9],
    "matrix": [[1.0, -2.0], [3.25, 4.0]],
    "cube": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "long": np.arange(40, dtype=np.float32),
    "longer": np.arange(2000, dtype=np.float32),
    "large matrix": RNG.standard_normal((40, 50)).astype(np.float32),
    "large cube": RNG.standard_normal((8, 9, 20)).astype(np.float32),
    "ints": [[1, -20], [300, 4]],
    "int32": np.array([1, 2], np.int32),
    "bools": [True, False],
    "empty": [],
    "empty matrix": np.zeros((2, 0), np.float32),
    "zeros": [0.0, 0.0],
    "complex": np.array([1 + 2j, 3.5 - 1j], np.complex64),
    "float64": np.array([0.1, 0.2]),
    "wrapped suffix": np.linspace(0, 1, 11),
}


def texts(make: Callable[[Any], Any], name: str) -> list[str]:
    """Return the text of a value: as it is and, if possible, as a leaf and as a result."""
    x = make(PRINTED[name])
    printed = [repr(x)]
    if "f" in np.asarray(PRINTED[name]).dtype.kind:
        x.requires_grad_()
        printed += [repr(x), repr(x * 2)]
    return [text.replace("torch.", "") for text in printed]


CALLS: dict[str, Call] = {
    "vector without gradient": lambda m, t, o: (t([1.0, 2.0], requires_grad=True) * 2).backward(),
    "no gradient required": lambda m, t, o: t([1.0]).sum().backward(),
    "integers": lambda m, t, o: t([1, 2], requires_grad=True),
    "integers later": lambda m, t, o: t([1, 2]).requires_grad_(),
    "flag of a result": lambda m, t, o: (t([1.0], requires_grad=True) * 2).requires_grad_(False),
    "numpy with history": lambda m, t, o: t([1.0], requires_grad=True).numpy(),
    "item of many": lambda m, t, o: t([1.0, 2.0]).item(),
    "truth of many": lambda m, t, o: bool(t([1.0, 2.0])),
    "truth of none": lambda m, t, o: bool(t([])),
    "many as a number": lambda m, t, o: float(t([1.0, 2.0])),
    "index of a fraction": lambda m, t, o: [10, 20][t(1.0)],
    "flag set on a result": lambda m, t, o: setattr(t([1.0], requires_grad=True) * 2, "requires_grad", True),
    "leaf assigned into": lambda m, t, o: t([1.0], requires_grad=True).__setitem__(0, 1.0),
    "input without gradient to backward": lambda m, t, o: m.backward(t(1.0, requires_grad=True) * 2, inputs=[t(1.0)]),
    "a vector among scalars": lambda m, t, o: m.backward([(x := t([1.0, 2.0], requires_grad=True)).sum(), x * 2]),
    "complex without gradient": lambda m, t, o: (t([1j], requires_grad=True) * 2).sum().backward(),
    "copy of a result": lambda m, t, o: (t([1.0], requires_grad=True) * 2).__deepcopy__({}),
    "empty inputs": lambda m, t, o: m.backward(t(1.0, requires_grad=True) * 2, inputs=[]),
    "empty inputs of grad": lambda m, t, o: m.grad(t(1.0, requires_grad=True) * 2, []),
    "input without gradient": lambda m, t, o: m.grad(t(1.0, requires_grad=True) * 2, t(1.0)),
    "unused input": lambda m, t, o: m.grad(t(1.0, requires_grad=True) * 2, t(1.0, requires_grad=True)),
    "both names": lambda m, t, o: m.backward(
        t(1.0, requires_grad=True) * 2, grad_tensors=t(1.0), grad_variables=t(1.0)
    ),
    "too few gradients": lambda m, t, o: m.backward([t(1.0, requires_grad=True) * i for i in range(2)], [t(1.0)]),
    "a number as gradient": lambda m, t, o: m.backward([t(1.0, requires_grad=True) * 2], [1.0]),
    "other shape": lambda m, t, o: m.backward(t([1.0, 2.0], requires_grad=True) * 2, t([1.0])),
    "leaf in place": lambda m, t, o: t([1.0], requires_grad=True).add_(1.0),
    "materialize and unused": lambda m, t, o: m.grad(
        t(1.0, requires_grad=True), t(1.0, requires_grad=True), materialize_grads=True, allow_unused=False
    ),
    "retain_grad without gradient": lambda m, t, o: t([1.0]).retain_grad(),
    "second time": lambda m, t, o: [(y := (t([2.0], requires_grad=True) ** 2).sum()).backward(), y.backward()],
    "subset second time": lambda m, t, o: [
        (y := ((x := t([2.0], requires_grad=True)) ** 2).sum()).backward(),
        y.backward(inputs=[x]),
    ],
}


def refusal(call: Call, m: Any, t: Any, o: Any) -> str:
    """Return the type and text of the error with which a library refuses a call."""
    try:
        call(m, t, o)
    except (RuntimeError, TypeError, ValueError) as error:
        kind = next(kind for kind in (RuntimeError, TypeError, ValueError) if isinstance(error, kind))
        text = str(error).replace("torch.Size", "Size").replace("torch.", "").strip().rstrip(".")
        # Each library has its own advice.
        return f"{kind.__name__}: {text.partition(' Hint: ')[0].partition('  If you were')[0].rstrip('.')}"
    return "not refused"
