"""``weight_norm`` and ``spectral_norm`` of earlier programs: hooks compute the weight before each call."""

from __future__ import annotations

from typing import Any

from funcgrad.autograd import Tensor, no_grad
from funcgrad.nn._module import Module
from funcgrad.nn._parameter import Parameter
from funcgrad.nn._pure import update_buffer
from funcgrad.nn.utils._spectral import as_matrix, normal_vectors, normalized, sigma_of
from funcgrad.nn.utils.parametrizations import norm_except, transposed_axis, weight_of


class ComputedWeight:
    """A forward hook that gives a module its weight, computed from other parameters of it."""

    # The name of the function that registers it, for messages.
    title = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def compute(self, module: Module, *, is_call: bool) -> Tensor:
        """Return the weight. ``is_call`` says whether the module is about to run."""
        raise NotImplementedError

    def parts(self) -> list[str]:
        """Return the names of the parameters and buffers that replace the weight."""
        raise NotImplementedError

    def __call__(self, module: Module, args: Any) -> None:
        del args
        setattr(module, self.name, self.compute(module, is_call=True))


class _WeightNorm(ComputedWeight):
    title = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def parts(self) -> list[str]:
        return [f"{self.name}_g", f"{self.name}_v"]

    def compute(self, module: Module, *, is_call: bool) -> Tensor:
        del is_call
        g, v = [getattr(module, part) for part in self.parts()]
        return v * (g / norm_except(v, self.dim))


class _SpectralNorm(ComputedWeight):
    title = "spectral_norm"

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def parts(self) -> list[str]:
        return [f"{self.name}_{part}" for part in ("orig", "u", "v")]

    def compute(self, module: Module, *, is_call: bool) -> Tensor:
        weight, u, v = [getattr(module, part) for part in self.parts()]
        matrix = as_matrix(weight, self.dim)
        if is_call and module.training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = normalized(matrix.T.detach() @ u, self.eps)
                    u = normalized(matrix.detach() @ v, self.eps)
                for part, x in zip(self.parts()[1:], (u, v), strict=True):
                    update_buffer(module, part, x)
        return weight / sigma_of(matrix, u, v)


def _hook_of(module: Module, kind: type[ComputedWeight], name: str) -> Any:
    for number, hook in module.__dict__.get("_forward_pre_hooks", {}).items():
        if isinstance(hook.function, kind) and hook.function.name == name:
            return number, hook.function
    return None


def _install(module: Module, made: ComputedWeight) -> Module:
    if _hook_of(module, type(made), made.name) is not None:
        raise RuntimeError(f"Cannot register two {made.title} hooks on the same parameter {made.name}")
    if isinstance(made, _WeightNorm):
        getattr(module, made.name)
    elif made.name not in module._parameters:  # noqa: SLF001  (PyTorch's table)
        raise KeyError(made.name)
    weight = weight_of(module, made.name)
    with no_grad():
        values: list[Any]
        if isinstance(made, _WeightNorm):
            values = [Parameter(norm_except(weight, made.dim)), Parameter(weight)]
        else:
            assert isinstance(made, _SpectralNorm)
            values = [weight, *normal_vectors(as_matrix(weight.detach(), made.dim), made.eps)]
    delattr(module, made.name)
    for part, value in zip(made.parts(), values, strict=True):
        if isinstance(value, Parameter):
            module.register_parameter(part, value)
        else:
            module.register_buffer(part, value)
    setattr(module, made.name, made.compute(module, is_call=False) if made.title == "weight_norm" else weight.data)
    module.register_forward_pre_hook(made)
    return module


def _remove(module: Module, kind: type[ComputedWeight], name: str) -> Module:
    found = _hook_of(module, kind, name)
    if found is None:
        raise ValueError(f"{kind.title} of '{name}' not found in {module}")
    number, hook = found
    with no_grad():
        weight = hook.compute(module, is_call=False)
    for each in (name, *hook.parts()):
        delattr(module, each)
    module.register_parameter(name, Parameter(weight.detach()))
    del module.__dict__["_forward_pre_hooks"][number]
    return module


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight as ``g * v / |v|`` before each call, from the parameters ``weight_g`` and ``weight_v``.

    Newer programs call `funcgrad.nn.utils.parametrizations.weight_norm`.

    Args:
        module: the module.
        name: the name of the weight.
        dim: the axis along which each slice has a length of its own; ``None`` for one length.

    Returns:
        The module.

    Raises:
        RuntimeError: the weight has such a norm already.
        AttributeError: the module has no such weight.

    Example:
        >>> from funcgrad import nn
        >>> sorted(name for name, _ in nn.utils.weight_norm(nn.Linear(3, 2)).named_parameters())
        ['bias', 'weight_g', 'weight_v']

    Source: ``torch.nn.utils.weight_norm``.
    """
    return _install(module, _WeightNorm(name, dim))


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight with `weight_norm` a parameter again.

    Raises:
        ValueError: the weight has no such norm.

    Example:
        >>> from funcgrad import nn
        >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 2)))
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    return _remove(module, _WeightNorm, name)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by an estimate of its largest singular value before each call.

    Newer programs call `funcgrad.nn.utils.parametrizations.spectral_norm`.

    Args:
        module: the module.
        name: the name of the weight.
        n_power_iterations: the number of iterations before each call in training.
        eps: a lower bound of norms, dimensionless.
        dim: the axis of outputs; by default 0, and 1 for transposed convolutions.

    Returns:
        The module.

    Raises:
        RuntimeError: the weight has such a norm already.
        KeyError: the module has no such parameter.
        ValueError: ``n_power_iterations`` is not positive.

    Example:
        >>> from funcgrad import nn
        >>> list(nn.utils.spectral_norm(nn.Linear(3, 2)).state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']

    Source: ``torch.nn.utils.spectral_norm``.
    """
    axis = transposed_axis(module) if dim is None else dim
    return _install(module, _SpectralNorm(name, n_power_iterations, axis, eps))


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight with `spectral_norm` a parameter again.

    Raises:
        ValueError: the weight has no such norm.

    Example:
        >>> from funcgrad import nn
        >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 2)))
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    return _remove(module, _SpectralNorm, name)
