"""Layers of an evaluated model joined into one, and modules without initial parameters."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import Array
from funcgrad.nn._parameter import Parameter


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Make a module whose parameters a state will replace.

    The module is made as usual, so its parameters have their initial values; PyTorch leaves them undefined.

    Args:
        module_cls: the class of the module, which takes ``device``.
        args: its arguments.
        kwargs: its further arguments.

    Returns:
        The module.

    Raises:
        RuntimeError: the class takes no ``device``.

    Example:
        >>> from funcgrad import nn
        >>> nn.utils.skip_init(nn.Linear, 3, 2)
        Linear(in_features=3, out_features=2, bias=True)

    Source: ``torch.nn.utils.skip_init``.
    """
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs)


def fuse_conv_bn_weights(
    conv_w: Array,
    conv_b: Array,
    bn_rm: Array,
    bn_rv: Array,
    bn_eps: float,
    bn_w: Array,
    bn_b: Array,
    transpose: bool = False,
) -> tuple[Any, Any]:
    """Return weights and biases of a convolution that also does what a batch norm after it does.

    Args:
        conv_w: the weights of the convolution.
        conv_b: its biases, or ``None``.
        bn_rm: the running means.
        bn_rv: the running variances.
        bn_eps: what is added to the variances.
        bn_w: the weights of the normalization, or ``None``.
        bn_b: its biases, or ``None``.
        transpose: whether the convolution is a transposed one.

    Returns:
        Two parameters.

    Example:
        >>> import funcgrad.torch as torch
        >>> one = torch.ones(1)
        >>> w, b = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1), None, one, one, 0.0, 2 * one, one)
        >>> w.item(), b.item()
        (2.0, -1.0)

    Source: ``torch.nn.utils.fusion.fuse_conv_bn_weights``.
    """
    conv_b = fnp.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = fnp.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = fnp.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * (bn_rv + bn_eps) ** -0.5
    axes = len(conv_w.shape) - 2
    shape = (1, -1) if transpose else (-1, 1)
    weight = conv_w * scale.reshape(*shape, *(1,) * axes)
    bias = (conv_b - bn_rm) * scale + bn_b
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b.requires_grad)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that also does what a batch norm after it does, in evaluation.

    Args:
        conv: a convolution in evaluation mode.
        bn: a batch norm with running statistics in evaluation mode.
        transpose: whether the convolution is a transposed one.

    Returns:
        A copy of the convolution with other weights and biases.

    Raises:
        AssertionError: one of them is in training mode.

    Example:
        >>> from funcgrad import nn
        >>> nn.utils.fuse_conv_bn_eval(nn.Conv1d(1, 2, 3, bias=False).eval(), nn.BatchNorm1d(2).eval())
        Conv1d(1, 2, kernel_size=(3,), stride=(1,))

    Source: ``torch.nn.utils.fusion.fuse_conv_bn_eval``.
    """
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(conv)
    statistics = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    made.weight, made.bias = fuse_conv_bn_weights(made.weight, made.bias, *statistics, transpose)
    return made


def fuse_linear_bn_weights(
    linear_w: Array, linear_b: Array, bn_rm: Array, bn_rv: Array, bn_eps: float, bn_w: Array, bn_b: Array
) -> tuple[Any, Any]:
    """Return weights and biases of an affine layer that also does what a batch norm after it does.

    Args:
        linear_w: the weights of the layer.
        linear_b: its biases, or ``None``.
        bn_rm: the running means.
        bn_rv: the running variances.
        bn_eps: what is added to the variances.
        bn_w: the weights of the normalization.
        bn_b: its biases.

    Returns:
        Two parameters.

    Example:
        >>> import funcgrad.torch as torch
        >>> one = torch.ones(1)
        >>> w, b = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 1), None, one, one, 0.0, 2 * one, one)
        >>> w.item(), b.item()
        (2.0, -1.0)

    Source: ``torch.nn.utils.fusion.fuse_linear_bn_weights``.
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return an affine layer that also does what a batch norm after it does, in evaluation.

    Args:
        linear: an affine layer in evaluation mode.
        bn: a batch norm with running statistics in evaluation mode.

    Returns:
        A copy of the layer with other weights and biases.

    Raises:
        AssertionError: one of them is in training mode, or the normalization has another number of features.

    Example:
        >>> from funcgrad import nn
        >>> nn.utils.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())
        Linear(in_features=3, out_features=2, bias=True)

    Source: ``torch.nn.utils.fusion.fuse_linear_bn_eval``.
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    made = copy.deepcopy(linear)
    statistics = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    made.weight, made.bias = fuse_linear_bn_weights(made.weight, made.bias, *statistics)
    return made
