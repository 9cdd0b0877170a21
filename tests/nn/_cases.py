"""Calls of ``funcgrad.nn`` that are compared with ``torch.nn.functional``, values and gradients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from funcgrad import nn

CLASSES = 5


@dataclass(frozen=True)
class Case:
    """One call: positional arguments, by the first ``differentiated`` of which it is differentiated, and options."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    torch_options: dict[str, Any] | None = None
    differentiated: int = 1

    @property
    def id(self) -> str:
        shapes = "-".join("x".join(map(str, np.shape(a))) for a in self.args)
        options = "-".join(
            f"{name}={value}" for name, value in self.options.items() if not isinstance(value, np.ndarray)
        )
        weighted = "-weighted" if isinstance(self.options.get("weight"), np.ndarray) else ""
        kind = "-probabilities" if self.name == "cross_entropy" and self.args[1].dtype.kind == "f" else ""
        ignoring = "-ignoring" if self.name in ("cross_entropy", "nll_loss") and np.any(self.args[1] == -100) else ""
        return f"{self.name}-{shapes}{'-' if options else ''}{options}{weighted}{kind}{ignoring}"

    def ours(self, *args: Any) -> Any:
        """Call ``funcgrad.nn``."""
        return getattr(nn, self.name)(*args, **self.options)

    def theirs(self, torch: Any) -> tuple[np.ndarray, ...]:
        """The value and the gradients by PyTorch, of the sum of the value times ``cotangent``."""
        args = [torch.tensor(a) for a in self.args]
        for x in args[: self.differentiated]:
            x.requires_grad_()
        options = self.options if self.torch_options is None else self.torch_options
        options = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        y = getattr(torch.nn.functional, self.name)(*args, **options)
        (y * torch.tensor(cotangent(y.detach().numpy()))).sum().backward()
        return (y.detach().numpy(), *[x.grad.numpy() for x in args[: self.differentiated]])


def cotangent(y: np.ndarray) -> np.ndarray:
    """Return a different weight for each element of a result, so that a gradient shows which element it belongs to."""
    return np.cos(np.arange(np.size(y))).reshape(np.shape(y))


def flat(values: Any) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(v)) for v in values])


def _normal(*shape: int) -> np.ndarray:
    return 2 * np.random.default_rng(sum(shape)).standard_normal(shape)


def _labels(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(sum(shape) + 1).integers(0, CLASSES, shape))


def _probabilities(*shape: int) -> np.ndarray:
    raw = np.random.default_rng(sum(shape) + 2).uniform(0.1, 1.0, shape)
    axis = 1 if len(shape) > 1 else 0
    return raw / raw.sum(axis, keepdims=True)


def _with_ignored(labels: np.ndarray) -> np.ndarray:
    labels = labels.copy()
    labels.flat[0] = -100
    return labels


def _elementwise() -> Iterator[Case]:
    # At 0 the rectifier has no derivative, and PyTorch takes 0.
    x = np.concatenate([_normal(7), [0.0, 30.0, -30.0]])
    for name in ("relu", "tanh", "sigmoid", "gelu"):
        yield Case(name, (x,))
    yield Case("gelu", (x,), {"approximate": "tanh"})
    for name, axis in itertools.product(("softmax", "log_softmax"), (-1, 0)):
        yield Case(name, (50 * _normal(3, 4),), {"axis": axis}, {"dim": axis})


def _linear() -> Iterator[Case]:
    for shape in ((3,), (4, 3), (2, 4, 3)):
        yield Case("linear", (_normal(*shape), _normal(5, 3), _normal(5)), differentiated=3)
    yield Case("linear", (_normal(4, 3), _normal(5, 3)), differentiated=2)
    yield Case("linear", (_normal(4, 3), _normal(3)), differentiated=2)


def _losses() -> Iterator[Case]:
    weight = np.random.default_rng(9).uniform(0.5, 2.0, CLASSES)
    for reduction in ("mean", "sum", "none"):
        yield Case("mse_loss", (_normal(3, 4), _normal(4, 3).T.copy()), {"reduction": reduction}, differentiated=2)
        for shape, weighted in itertools.product(((CLASSES,), (6, CLASSES), (3, CLASSES, 2)), (None, weight)):
            x, without = _normal(*shape), (shape[:1] if len(shape) > 1 else ()) + shape[2:]
            labels, options = _labels(*without), {"reduction": reduction, "weight": weighted}
            targets = [labels, *([_with_ignored(labels)] if labels.size > 1 else [])]
            yield from (Case("nll_loss", (x, t), options) for t in targets)
            for smoothing in (0.0, 0.1):
                smoothed = {**options, "label_smoothing": smoothing}
                yield from (Case("cross_entropy", (x, t), smoothed) for t in [*targets, _probabilities(*shape)])


def _spaces() -> Iterator[Case]:
    """Rows for one, two and three axes: with every option, and with none."""
    bias = _normal(4)
    yield Case("conv1d", (_normal(2, 3, 6), _normal(4, 3, 3), bias), {"padding": "same"}, differentiated=3)
    moved: dict[str, Any] = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
    yield Case("conv2d", (_normal(2, 4, 6, 5), _normal(4, 2, 3, 2), bias), moved, differentiated=3)
    yield Case("conv3d", (_normal(2, 3, 2, 4), _normal(2, 2, 2, 1, 3)), differentiated=2)
    yield Case("conv_transpose1d", (_normal(4, 5), _normal(4, 2, 3)), {"groups": 2, "padding": 1}, differentiated=2)
    moved = {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2), "dilation": (1, 2)}
    yield Case("conv_transpose2d", (_normal(2, 3, 2, 3), _normal(3, 4, 3, 2), bias), moved, differentiated=3)
    yield Case("conv_transpose3d", (_normal(1, 2, 2, 1, 3), _normal(2, 1, 1, 2, 2)), {"stride": 2}, differentiated=2)
    # Equal elements, of which the first gets the cotangent.
    ties = np.round(_normal(2, 2, 7, 5))
    ties[0, 0, 2, 1] = np.nan
    yield Case("max_pool1d", (ties[0],), {"kernel_size": 3, "stride": 1, "dilation": 2})
    yield Case("max_pool2d", (ties,), {"kernel_size": (3, 2), "stride": 2, "padding": (1, 0), "ceil_mode": True})
    yield Case("max_pool3d", (_normal(2, 4, 3, 4),), {"kernel_size": 2})
    yield Case("avg_pool1d", (_normal(2, 3, 7),), {"kernel_size": 3, "padding": 1, "count_include_pad": False})
    yield Case("avg_pool2d", (_normal(2, 7, 6),), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True})
    yield Case("avg_pool3d", (_normal(2, 4, 3, 4),), {"kernel_size": 2, "divisor_override": 3})


CASES = {case.id: case for case in (*_elementwise(), *_linear(), *_losses(), *_spaces())}
