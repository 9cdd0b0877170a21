"""Softmax and its relatives as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.nn import functional as F
from funcgrad.nn._containers import ModuleList, Sequential
from funcgrad.nn._module import Module
from funcgrad.nn._modules.linear import Linear
from funcgrad.nn._modules.losses import WeightedLossBase
from funcgrad.numpy.extend import known_value


class GLU(Module):
    """Compute ``a * sigmoid(b)`` with the two halves of the input along an axis."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Array) -> Any:
        """Compute the output, half as long as the input."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"dim={self.dim}"


class _AlongAxis(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"dim={self.dim}"


class Softmax(_AlongAxis):
    """Compute ``exp(x) / sum(exp(x))`` along an axis."""

    def forward(self, input: Array) -> Any:
        """Compute the output."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongAxis):
    """Compute ``log(softmax(x))`` along an axis."""

    def forward(self, input: Array) -> Any:
        """Compute the output."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongAxis):
    """Compute ``softmax(-x)`` along an axis."""

    def forward(self, input: Array) -> Any:
        """Compute the output."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Compute the softmax over the channels of images."""

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, height, width] -> [batch, channels, height, width]``."""
        if len(input.shape) not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {len(input.shape)}D instead")
        return F.softmax(input, -3)


class ASMoutput(NamedTuple):
    """The logarithms of the targets' probabilities, and minus their mean."""

    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Compute log-probabilities of many classes in clusters: rare classes share few features (Grave et al., 2017).

    Args:
        in_features: the length of the input's last axis.
        n_classes: the number of classes, the most frequent ones first.
        cutoffs: the first classes of the clusters, in increasing order.
        div_value: each cluster projects the input to ``in_features / div_value ** i`` features.
        head_bias: whether the scores of the frequent classes and of the clusters have a bias.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Raises:
        ValueError: the cutoffs are not increasing positive integers below the number of classes.

    Example:
        >>> from funcgrad import nn
        >>> sorted(nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6], div_value=2.0).state_dict())[:3]
        ['head.weight', 'tail.0.0.weight', 'tail.0.1.weight']

    Source: ``torch.nn.AdaptiveLogSoftmaxWithLoss``.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        given = [*cutoffs]
        if not given:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        inside = min(given) > 0 and max(given) <= n_classes - 1
        if given != sorted({*given}) or not inside or any(int(c) != c for c in given):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*given, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = given[0], len(given)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (i + 1))
            sizes = (in_features, inner), (inner, high - low)
            self.tail.append(Sequential(*[Linear(*size, bias=False, device=device, dtype=dtype) for size in sizes]))

    def reset_parameters(self) -> None:
        """Draw all weights again."""
        self.head.reset_parameters()
        for layer in self.tail.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Array, target_: Array) -> ASMoutput:
        """Compute ``f32[n, in], i64[n]`` to the log-probabilities ``f32[n]`` of the targets, and their loss."""
        self._check(input_, target_)
        batched = len(target_.shape) > 0
        x, target = (input_, target_) if batched else (input_[None], target_[None])
        bounds = np.asarray([0, *self.cutoffs])
        labels = known_value(target)
        if labels is not None and not bool(np.all((labels >= 0) & (labels < self.n_classes))):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{labels.min()}, "
                f"{labels.max()}] were found. "
            )
        # The position in the head: a frequent class itself, or the cluster of a rare one.
        cluster = fnp.searchsorted(bounds[1:], target, side="right")
        place = fnp.where(fnp.equal(cluster, 0), target, fnp.add(cluster, self.shortlist_size - 1))
        output = fnp.take_along_axis(F.log_softmax(self.head(x), dim=1), place[:, None], axis=1)[:, 0]
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            inside = fnp.equal(cluster, i + 1)
            relative = fnp.where(inside, fnp.subtract(target, low), 0)
            if labels is not None:
                output = self._add_known(output, x, relative, i, np.flatnonzero((labels >= low) & (labels < high)))
                continue
            local = fnp.take_along_axis(F.log_softmax(self.tail[i](x), dim=1), relative[:, None], axis=1)[:, 0]
            output = fnp.add(output, fnp.where(inside, local, 0))
        loss = fnp.negative(fnp.mean(output))
        return ASMoutput(output if batched else output[0], loss)

    def _add_known(self, output: Array, x: Array, relative: Array, i: int, rows: np.ndarray) -> Any:
        """Add the log-probabilities within a cluster; only its own rows are projected."""
        if not rows.size:
            return output
        local = F.log_softmax(self.tail[i](fnp.take(x, rows, axis=0)), dim=1)
        found = fnp.take_along_axis(local, fnp.take(relative, rows)[:, None], axis=1)[:, 0]
        back = np.full(output.shape[0], len(rows))
        back[rows] = np.arange(len(rows))
        return fnp.add(output, fnp.take(fnp.concatenate([found, fnp.zeros_like(found[:1])]), back))

    def _check(self, x: Array, target: Array) -> None:
        axes = len(target.shape)
        if axes > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if axes == 1 and x.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if len(x.shape) != axes + 1:
            size = f"torch.Size({list(x.shape)})"
            raise RuntimeError(
                f"{axes}D target tensor expects {axes + 1}D input tensors, but found inputs with size {size}"
            )

    def log_prob(self, input: Array) -> Any:
        """Compute ``f32[n, in]`` to the log-probabilities of all classes, ``f32[n, n_classes]``."""
        head = F.log_softmax(self.head(input), dim=1)
        first = self.shortlist_size
        tails = [
            fnp.add(F.log_softmax(projection(input), dim=1), head[:, first + i, None])
            for i, projection in enumerate(self.tail)
        ]
        return fnp.concatenate([head[:, :first], *tails], axis=1)

    def predict(self, input: Array) -> Any:
        """Return the most probable class of each row."""
        return fnp.argmax(self.log_prob(input), axis=1)


class LinearCrossEntropyLoss(WeightedLossBase):
    """Cross entropy of logits that a linear layer of the loss itself computes; see `CrossEntropyLoss`.

    Args:
        in_features: the length of each input.
        num_classes: the number of classes.
        out_features: the lengths of further axes of the target.
        bias: whether the layer has a bias.
        device: the device of the layer; only the present one is accepted.
        dtype: the dtype of the layer.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: the weight of each class, dimensionless.
        ignore_index: a class that does not count; ``None`` is -100.
        label_smoothing: the share of a uniform distribution in the target, dimensionless.
        options: PyTorch's options of the order of computation; they change no result.

    Raises:
        RuntimeError: the shape of ``weight`` or the number ``label_smoothing`` does not fit.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> loss = nn.LinearCrossEntropyLoss(2, 3)
        >>> list(loss.state_dict())
        ['linear.weight']
        >>> loss(tensor([[1.0, 2.0]]), tensor([1])).shape
        ()

    Source: ``torch.nn.LinearCrossEntropyLoss``.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        reduction: str = "mean",
        weight: Array = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        width = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, width, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        shape = self.num_classes, *self.out_features
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        """Return the arguments."""
        names = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing", "options")
        own = {name: getattr(self, name) for name in names}
        own = {"in_features": self.linear.in_features, **own}
        order = ("in_features", "num_classes", "out_features", "bias", *names[2:])
        own["bias"] = self.linear.bias is not None
        return ", ".join(f"{name}={own[name]}" for name in order)
