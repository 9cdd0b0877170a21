"""Lazy modules: the first input decides the sizes that the constructor of the plain module takes."""

from __future__ import annotations

from typing import Any

from funcgrad._types import Array, DeviceLike, DTypeLike, Padding, PerAxis
from funcgrad.autograd import no_grad
from funcgrad.nn._modules import convolution, linear, normalization
from funcgrad.nn._parameter import Uninitialized, UninitializedBuffer, UninitializedParameter

_TABLES = ("_parameters", "_buffers")


class LazyModuleMixin:
    """Second base class, after `Module`, of modules whose first input decides shapes of parameters and buffers.

    A subclass assigns `UninitializedParameter` and `UninitializedBuffer`, and defines ``initialize_parameters``, which
    gets the arguments of the first call and gives each of them a shape by ``materialize``.

    The class of the module stays; with ``cls_to_become`` it is a subclass of the plain module and has its name when it
    is printed. PyTorch exchanges the class of the object instead.

    Source: ``torch.nn.modules.lazy.LazyModuleMixin``.
    """

    cls_to_become: Any = None

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give shapes to parameters and buffers; subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether parameters or buffers have no shape yet."""
        return any(isinstance(x, Uninitialized) for table in self._places() for x in table.values())

    def _places(self) -> list[dict[str, Any]]:
        """Return the tables of parameters and buffers, with the tensors that have been made since."""
        tables = [self.__dict__[name] for name in _TABLES]
        for table in tables:
            made = {name: x.made for name, x in table.items() if isinstance(x, Uninitialized)}
            table.update({name: x for name, x in made.items() if x is not None})
        return tables

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)  # pyright: ignore[reportAttributeAccessIssue]  (that of `Module`)
        return found.made if isinstance(found, Uninitialized) and found.made is not None else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.has_uninitialized_params():
            self.initialize_parameters(*args, **kwargs)
            if self.has_uninitialized_params():
                raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        elif not self._has_sizes():
            self._find_sizes()
        return super().__call__(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]  (that of `Module`)

    def _get_name(self) -> str:
        is_made = self.cls_to_become is not None and not self.has_uninitialized_params() and self._has_sizes()
        plain: Any = self.cls_to_become
        return plain.__name__ if is_made else type(self).__name__

    def _has_sizes(self) -> bool:
        """Return whether the sizes that are printed are known: not after a state was loaded, before the first call."""
        return True

    def _find_sizes(self) -> None:
        """Set the sizes that a loaded state has decided."""


class LazyLinear(LazyModuleMixin, linear.Linear):
    """`Linear` whose ``in_features`` is the length of the first input's last axis.

    Args:
        out_features: the length of the last axis of the output.
        bias: whether a bias is added.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> layer = nn.LazyLinear(3)
        >>> layer
        LazyLinear(in_features=0, out_features=3, bias=True)
        >>> _ = layer(np.ones((2, 5), np.float32))
        >>> layer
        Linear(in_features=5, out_features=3, bias=True)

    Source: ``torch.nn.LazyLinear``.
    """

    cls_to_become = linear.Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Fill weight and bias, if they have shapes."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Array) -> None:
        """Make weight and bias for an input."""
        self.in_features = input.shape[-1]
        with no_grad():
            self.weight.materialize((self.out_features, self.in_features))
            bias: Any = self.bias
            if bias is not None:
                bias.materialize((self.out_features,))
            self.reset_parameters()

    def _has_sizes(self) -> bool:
        return bool(self.in_features)

    def _find_sizes(self) -> None:
        self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin):
    """The channels of a convolution's input, which its first input decides."""

    def __init__(self, out_channels: int, kernel_size: PerAxis, *args: Any, bias: bool, **options: Any) -> None:
        made: Any = super()
        made.__init__(0, 0, kernel_size, *args, bias=False, **options)
        device, dtype = options["device"], options["dtype"]
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Fill weights and biases, if they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # pyright: ignore[reportAttributeAccessIssue]  (that of the convolution)

    def initialize_parameters(self, input: Array, *args: Any) -> None:
        """Make weights and biases for an input."""
        axes = len(self.kernel_size)
        if len(input.shape) not in (axes + 1, axes + 2):
            raise RuntimeError(
                f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: torch.Size({list(input.shape)})"
            )
        self.in_channels = input.shape[-axes - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        channels = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            channels = self.in_channels, self.out_channels // self.groups
        self.weight.materialize((*channels, *self.kernel_size))
        bias: Any = self.bias
        if bias is not None:
            bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _has_sizes(self) -> bool:
        return bool(self.in_channels)

    def _find_sizes(self) -> None:
        self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups


class _LazyForward(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: PerAxis,
        stride: PerAxis = 1,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        options = {"padding_mode": padding_mode, "device": device, "dtype": dtype}
        super().__init__(out_channels, kernel_size, stride, padding, dilation, groups, bias=bias, **options)


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: PerAxis,
        stride: PerAxis = 1,
        padding: Padding = 0,
        output_padding: PerAxis = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: PerAxis = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        options = {"dilation": dilation, "padding_mode": padding_mode, "device": device, "dtype": dtype}
        super().__init__(out_channels, kernel_size, stride, padding, output_padding, groups, bias=bias, **options)


class _LazyNorm(LazyModuleMixin):
    """The channels of a normalization, which its first input decides."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        made: Any = super()
        made.__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        for name, x in [*self.__dict__["_parameters"].items()]:
            if x is not None:
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
        for name in ("running_mean", "running_var") if track_running_stats else ():
            self.__dict__["_buffers"][name] = UninitializedBuffer(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Set parameters and running statistics to their initial values, if they have shapes."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()  # pyright: ignore[reportAttributeAccessIssue]  (that of the normalization)

    def initialize_parameters(self, input: Array) -> None:
        """Make parameters and running statistics for an input."""
        self.num_features = input.shape[1]
        for table in self._places():
            for x in table.values():
                if isinstance(x, Uninitialized):
                    x.materialize((self.num_features,))
        self.reset_parameters()

    def _has_sizes(self) -> bool:
        held = self.weight is not None or self.running_mean is not None
        return bool(self.num_features) or not held

    def _find_sizes(self) -> None:
        self.num_features = len(self.running_mean if self.weight is None else self.weight)


def _lazy(base: Any, plain: Any, what: str) -> Any:
    """Return the lazy class of a plain module."""
    name = f"Lazy{plain.__name__}"
    doc = f"`{plain.__name__}` whose ``{what}`` the first input decides.\n\n    Source: ``torch.nn.{name}``.\n    "
    body = {"cls_to_become": plain, "__module__": __name__, "__doc__": doc}
    return type(name, (base, plain), body)


LazyConv1d = _lazy(_LazyForward, convolution.Conv1d, "in_channels")
LazyConv2d = _lazy(_LazyForward, convolution.Conv2d, "in_channels")
LazyConv3d = _lazy(_LazyForward, convolution.Conv3d, "in_channels")
LazyConvTranspose1d = _lazy(_LazyTransposed, convolution.ConvTranspose1d, "in_channels")
LazyConvTranspose2d = _lazy(_LazyTransposed, convolution.ConvTranspose2d, "in_channels")
LazyConvTranspose3d = _lazy(_LazyTransposed, convolution.ConvTranspose3d, "in_channels")
LazyBatchNorm1d = _lazy(_LazyNorm, normalization.BatchNorm1d, "num_features")
LazyBatchNorm2d = _lazy(_LazyNorm, normalization.BatchNorm2d, "num_features")
LazyBatchNorm3d = _lazy(_LazyNorm, normalization.BatchNorm3d, "num_features")
LazyInstanceNorm1d = _lazy(_LazyNorm, normalization.InstanceNorm1d, "num_features")
LazyInstanceNorm2d = _lazy(_LazyNorm, normalization.InstanceNorm2d, "num_features")
LazyInstanceNorm3d = _lazy(_LazyNorm, normalization.InstanceNorm3d, "num_features")
