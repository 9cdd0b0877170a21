"""Random scripts of tensors: lines that run on PyTorch's tensors and on ours."""

from __future__ import annotations

import builtins
import importlib
import re
import warnings
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from funcgrad import autograd
from tests.laws.fuzz.table import words

# Views are drawn more often, because a write to one must show in the others.
VIEWS = 3 * words(
    "reshape(-1) view(-1) t() transpose(0,-1) unsqueeze(0) squeeze() detach() permute(1,0) expand(2,3) flatten() T "
    "data narrow(0,0,1) select(0,-1) movedim(0,-1) diagonal()"
)
UNARY = VIEWS + words(
    """
    exp() tanh() sigmoid() relu() sin() cos() neg() sum() mean() sum(0) sum(-1) mean(0) sum(0,keepdim=True)
    norm() prod() reshape(-1) view(-1) t() transpose(0,-1) unsqueeze(0) unsqueeze(-1) squeeze() flatten()
    clone() detach() contiguous() double() float() pow(2) clamp(min=-0.5,max=1) clamp(max=0.5) softmax(-1)
    log_softmax(0) cumsum(0) cumprod(-1) argmax() square() abs() requires_grad_() requires_grad_(False)
    sqrt() log() item() tolist() is_leaf requires_grad permute(1,0) expand(2,-1,-1) expand(2,3) reshape(1,-1)
    dim() size() numel() T data amax(0) logsumexp(0) flip(0) roll(1) tril() diag() diff() rsqrt() sign() erf()
    gather(0,tensor([[0,0]])) index_fill(0,tensor([0]),2.0) scatter(-1,tensor([[0],[0]]),0.5)
    """
)
INDEX = ("0", "-1", "..., 0", "1:", "None", "::2", "[0, 0]", ":, 0", "0, 0", "...", "np.array([1, 0])")
WRITES = words(
    """
    mul_(0.5) mul_({y}) mul_({x}) mul_({y}.detach()) add_({y}) add_(1.5,alpha=2) add_({y},alpha=0.5)
    sub_({y},alpha=0.5) div_({y}) div_(4.0) pow_(2) pow_({y}) copy_({y}) copy_({y}.detach()) fill_(0.5) zero_()
    clamp_(min=-0.5,max=0.5) clamp_(max=0.3) relu_() exp_() tanh_() sin_() cos_() sigmoid_() neg_() abs_() sqrt_()
    log_() square_() reciprocal_() floor_() cumsum_(0) masked_fill_({x}>0,0.25) masked_fill_({y}>0,0.25)
    index_fill_(0,tensor([0]),2.0) index_add_(0,tensor([0,-1]),{y}) index_add_(0,tensor([1,1]),{y},alpha=2)
    index_copy_(0,tensor([1,0]),{y}) scatter_(0,tensor([[1,0]]),0.5) scatter_add_(-1,tensor([[0],[0]]),{y})
    index_put_((tensor([1,0]),),{y}) index_put_((tensor([1,1]),),{y},accumulate=True) clamp_min_(0.1) clamp_max_(0.1)
    masked_scatter_({x}>0,{y}) put_(tensor([0,1]),{y}) fill_diagonal_(0.5) tril_() triu_(1) nan_to_num_() erf_()
    maximum({y}) atan2_({y}) hypot_({y}) gt_({y}) fmod_({y}) copysign_({y}) xlogy_({y}) addr_({y},{y}) nan_to_num_(1.0)
    normal_(0,0) uniform_(1,1) expm1_() log1p_() rsqrt_() sign_() remainder_(0.7) div_({y},rounding_mode="trunc")
    lerp_({y},0.25) addcmul_({y},{y},value=0.5) addcdiv_({y},{y}.detach()+9) detach_()
    """
)
ASSIGNED = ("0", "-1", "..., 0", "1:", "::2", ":, 0", "0, 0", "...", ":", "np.array([1, 0])", "{x} > 0", "{y} > 0")
VALUES = ("2.0", "{y}", "{y} * 3", "{y}[0]", "{x}[-1]", "{y}.sum()", "0")
BINARY = words(
    """
    + - * / ** @ > < ==
    """
)
EFFECTS = (
    "{x}.sum().backward()",
    "{x}.sum().backward()",
    "{x}.backward()",
    "{x}.sum().backward(retain_graph=True)",
    "{x}.sum().backward(create_graph=True)",
    "{x}.data = {x}.data * 2",
    "{x}.data = {y}.detach()",
    "{x}.grad = None",
    "{x}.grad.zero_()",
    "{x}.retain_grad()",
    "{x}.detach().mul_(2)",
    "{x}.data.add_(1)",
    "{x}.data[0] = 1.5",
    "{x}.backward(torch_ones)",
    "{x}.grad = {y}.detach()",
)
# Tensors as plain numbers: refused if the derivative would be lost. PyTorch does not always refuse.
TO_PLAIN = (
    "{v} = np.zeros(2); {v}[0] = {x}",
    "{v} = np.zeros(2); {v}.fill({x})",
    "{v} = np.array([1.0, {x}])",
    "{v} = np.asarray({x}).tolist()",
    "{v} = {x}.numpy().tolist()",
    "{v} = float({x})",
    "{v} = int({x})",
)


@dataclass(frozen=True)
class Script:
    seed: int
    lines: tuple[str, ...]

    def text(self) -> str:
        head = [
            "import numpy as np",
            "from funcgrad.autograd import tensor, no_grad, grad  # or from torch, torch.autograd",
        ]
        return "\n".join([*head, *self.lines])


def peers() -> Any:
    """Return PyTorch, or ``None`` if it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def scope_of(torch: Any) -> dict[str, Any]:
    if torch is None:
        return {"np": np, "tensor": autograd.tensor, "no_grad": autograd.no_grad, "grad": autograd.grad}
    return {"np": np, "tensor": torch.tensor, "no_grad": torch.no_grad, "grad": torch.autograd.grad}


def script_of(seed: int) -> Script:
    """Return the script of a seed. Some lines that PyTorch refuses stay in, and ours must refuse them, too."""
    rng, scope = Random(seed), scope_of(peers())
    dtype = rng.choice(("np.float64", "np.float64", "np.float32"))
    lines = [_leaf(rng, i, dtype) for i in range(rng.randint(1, 3))]
    names = [line.split(" ")[0] for line in lines]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            builtins.exec(line, scope)
        for k in range(rng.randint(2, 14)):
            line = _line(rng, names, k)
            error = executed(line, scope)
            if error is None or (isinstance(error, RuntimeError) and rng.random() < 0.15 and " = " not in line):
                lines.append(line)
            new: Any = scope.get(f"v{k}")
            if hasattr(new, "detach"):
                names.append(f"v{k}")
                if new.numel() > 60:
                    break
    return Script(seed, tuple(lines))


def _leaf(rng: Random, i: int, dtype: str) -> str:
    shape = rng.choice(((), (1,), (2,), (3,), (2, 3), (3, 2), (2, 2), (1, 3), (0,), (0, 2)))
    values = np.array(
        [
            round(rng.gauss(0, 1), 2) if rng.random() < 0.8 else rng.choice((0.0, 1.0, -1.0))
            for _ in range(int(np.prod(shape)))
        ]
    )
    made = f"np.array({values.reshape(shape).tolist()}, {dtype})" if values.size else f"np.zeros({shape}, {dtype})"
    return f"t{i} = tensor({made}, requires_grad={rng.random() < 0.8})"


def _line(rng: Random, names: list[str], k: int) -> str:
    x, y = rng.choices(names, range(1, len(names) + 1))[0], rng.choice(names)
    kind = rng.random()
    if kind < 0.15:
        line = rng.choice(EFFECTS).format(x=x, y=y)
        return f"with no_grad(): {line}" if "_(" in line and rng.random() < 0.6 else line
    if kind < 0.4:
        line = _write(rng, x, y)
        return f"with no_grad(): {line}" if rng.random() < 0.2 else line
    if kind < 0.51:
        return _seldom(rng, kind, x, y, f"v{k}")
    return f"v{k} = {_expression(rng, x, y)}"


def _seldom(rng: Random, kind: float, x: str, y: str, v: str) -> str:
    if kind < 0.42:
        return f"with no_grad(): {v} = {x}.{rng.choice(VIEWS)}"
    if kind < 0.45:
        return f"{v} = list({x}.{rng.choice(('split(1)', 'chunk(2)', 'unbind()'))})[-1]"
    if kind < 0.48:
        return f"with no_grad(): {v} = {x} * {y}"
    line = rng.choice(TO_PLAIN).format(v=v, x=x)
    return f"with no_grad(): {line}" if rng.random() < 0.3 else line


def _write(rng: Random, x: str, y: str) -> str:
    if rng.random() < 0.3:
        return f"{x}[{rng.choice(ASSIGNED)}] = {rng.choice(VALUES)}".format(x=x, y=y)
    if rng.random() < 0.2:
        return f"{x} {rng.choice(('+=', '-=', '*=', '/=', '**='))} {rng.choice((y, '2', x))}"
    return f"{x}.{rng.choice(WRITES)}".format(x=x, y=y)


def _expression(rng: Random, x: str, y: str) -> str:
    other = rng.choice((y, y, y, "2", "0.5", "-1", "True"))
    pair = (x, other) if rng.random() < 0.7 else (other, x)
    kinds = {
        f"{x}.{rng.choice(UNARY)}": 28,
        f"{x}[{rng.choice(INDEX)}]": 12,
        f"{x}[{x} > 0]": 4,
        f"{x}.masked_fill({x} > 0, 0.5)": 4,
        f"grad({x}.sum(), {y}, create_graph={rng.random() < 0.5}, allow_unused=True)[0]": 5,
        f"{pair[0]} {rng.choice(BINARY)} {pair[1]}": 22,
    }
    return rng.choices(list(kinds), list(kinds.values()))[0]


def to_plain(line: str) -> str:
    """Return the tensor that a line converts to plain numbers; empty if there is none."""
    for form in TO_PLAIN:
        pattern = re.escape(form).replace(r"\{v\}", r"[tv]\d+").replace(r"\{x\}", r"([tv]\d+)")
        if found := re.search(pattern + "$", line):
            return found[1]
    return ""


def executed(line: str, scope: dict[str, Any]) -> Exception | None:
    try:
        builtins.exec(line, scope)
    except Exception as error:  # noqa: BLE001  (both sides' errors are compared)
        return error
    return None
