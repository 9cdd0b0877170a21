"""Parametrizations of weights, as ``torch.nn.utils.parametrizations`` has them: norms and orthogonal matrices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._public import publish
from funcgrad._types import Array
from funcgrad.autograd import Tensor, no_grad
from funcgrad.autograd.extend import default_generator, is_tensor, rebuild
from funcgrad.nn._module import Module
from funcgrad.nn.utils._spectral import as_matrix, iterated, normal_vectors, normalized, sigma_of
from funcgrad.nn.utils.parametrize import register_parametrization
from funcgrad.scipy import linalg

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

Map = Literal["matrix_exp", "cayley", "householder"]


def weight_of(module: Module, name: str) -> Tensor:
    """Return a tensor of a module, or raise PyTorch's error."""
    weight: Tensor | None = getattr(module, name, None)
    if weight is None or not is_tensor(weight):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def norm_except(weight: Tensor, dim: int) -> Tensor:
    """Return the norms of the slices along an axis, with lengths 1 elsewhere; of the whole tensor for axis -1."""
    axes = tuple([i for i in range(len(weight.shape)) if dim == -1 or i != dim])
    return root_of_squares_p(fnp.sum(weight * weight, axis=axes, keepdims=dim != -1))


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the direction of ``v`` with the length ``g``."""
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return lengths and directions of a weight."""
        return norm_except(weight, self.dim), weight.clone()


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight as ``g * v / |v|`` from the parameters ``original0`` (``g``) and ``original1`` (``v``).

    Args:
        module: the module.
        name: the name of the weight.
        dim: the axis along which each slice has a length of its own; ``None`` for one length.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such weight.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrizations
        >>> layer = parametrizations.weight_norm(nn.Linear(3, 2))
        >>> layer.parametrizations.weight.original0.shape
        (2, 1)

    Source: Salimans and Kingma, *Weight normalization* (2016), eq. 2.
    """
    weight_of(module, name)
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = len(weight.shape)
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            u, v = normal_vectors(matrix, eps)
            u, v = iterated(matrix, u, v, 15, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight divided by an estimate of its largest singular value."""
        if len(weight.shape) == 1:
            return normalized(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        u, v = self._u, self._v
        if self.training:
            with no_grad():
                u, v = iterated(matrix.detach(), u, v, self.n_power_iterations, self.eps)
            self._u, self._v = u, v
        return weight / sigma_of(matrix, u, v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the weight itself."""
        return value


def transposed_axis(module: Module) -> int:
    """Return the axis of a weight's outputs: 1 for transposed convolutions, else 0."""
    return int(getattr(module, "transposed", False))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which each pass in training estimates better.

    Args:
        module: the module.
        name: the name of the weight.
        n_power_iterations: the number of iterations in each pass.
        eps: a lower bound of norms, dimensionless.
        dim: the axis of outputs; by default 0, and 1 for transposed convolutions.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such weight, or ``n_power_iterations`` is not positive.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrizations
        >>> layer = parametrizations.spectral_norm(nn.Linear(3, 2))
        >>> bool(abs(np.linalg.norm(layer.weight.detach().numpy(), 2) - 1) < 0.1)
        True

    Source: Miyato et al., *Spectral normalization for generative adversarial networks* (2018), algorithm 1.
    """
    weight = weight_of(module, name)
    axis = transposed_axis(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, axis, eps))


def householder_product(a: Tensor, tau: Tensor) -> Tensor:
    """Return the first columns of the product of reflectors: ``f32[..., m, n], f32[..., k] -> f32[..., m, n]``."""
    m, n = a.shape[-2:]
    product = fnp.broadcast_to(np.eye(m, n, dtype=a.dtype), a.shape)
    units = np.eye(m, n, dtype=a.dtype)
    lower = fnp.tril(a, -1) + units
    for i in reversed(range(tau.shape[-1])):
        column = lower[..., i : i + 1]
        row = fnp.matrix_transpose(fnp.conjugate(column) if a.dtype.kind == "c" else column)
        product = product - tau[..., i, None, None] * (column @ (row @ product))
    return product


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, orthogonal_map: Map, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.dtype.kind == "c" and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        self.uses_base = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803  (PyTorch's name)
        """Return an orthogonal matrix of a matrix of any numbers."""
        is_wide = X.shape[-2] < X.shape[-1]
        x: Any = fnp.matrix_transpose(X) if is_wide else X
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            a = fnp.tril(x, -1)
            q = householder_product(a, 2.0 / (1.0 + fnp.sum(a * a, axis=-2)))
            # The diagonal holds signs, which have no derivative.
            signs = np.trunc(np.diagonal(np.asarray(x.detach()._value), axis1=-2, axis2=-1)).astype(x.dtype)
            q = q * signs[..., None, :]
        else:
            q = self._of_skew(x, n, k)
        base: Any = self.base if self.uses_base else None
        if base is not None:
            q = base @ q
        return fnp.matrix_transpose(q) if is_wide else q

    def _of_skew(self, x: Array, n: int, k: int) -> Any:
        """Return the exponential, or Cayley's transform, of the skew matrix of a lower triangle."""
        x = fnp.tril(x)
        if n != k:
            x = fnp.concatenate([x, np.zeros((*x.shape[:-1], n - k), x.dtype)], -1)
        a = x - fnp.conjugate(fnp.matrix_transpose(x)) if x.dtype.kind == "c" else x - fnp.matrix_transpose(x)
        if self.orthogonal_map == "matrix_exp":
            q = linalg.expm(a)
        else:
            unit = np.eye(n, dtype=a.dtype)
            q = fnp.linalg.solve(unit - a * 0.5, unit + a * 0.5)
        return q[..., :k]

    def right_inverse(self, Q: Tensor) -> Tensor:  # noqa: N803  (PyTorch's name)
        """Return the numbers whose orthogonal matrix is the one given, made orthogonal first."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape torch.Size({list(self.shape)}). Got a tensor of "
                f"shape torch.Size({list(Q.shape)})."
            )
        value = np.asarray(Q.detach()._value)
        is_wide = value.shape[-2] < value.shape[-1]
        q = np.swapaxes(value, -1, -2) if is_wide else value
        n, k = q.shape[-2:]
        if not self.uses_base:
            return rebuild(self._reflectors(q, is_wide), False)
        if n != k:
            more = default_generator.normal(0.0, 1.0, (*q.shape[:-2], n, n - k), dtype=q.dtype)
            q = _made_orthogonal(np.concatenate([q, more], -1))
        elif not _is_orthogonal(q):
            q = _made_orthogonal(q)
        self.base = rebuild(q.copy(), False)
        # Minus one on the diagonal makes the product of reflectors the identity.
        return rebuild(np.broadcast_to(-np.eye(*value.shape[-2:], dtype=value.dtype), value.shape).copy(), False)

    def _reflectors(self, q: np.ndarray, is_wide: bool) -> np.ndarray:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        h, tau = np.linalg.qr(q, mode="raw")
        a = np.swapaxes(h, -1, -2).copy()
        places = np.arange(a.shape[-1])
        a[..., places, places] = np.sign(a[..., places, places]) * np.where(tau == 0, -1, 1)
        return np.swapaxes(a, -1, -2) if is_wide else a


def _is_orthogonal(q: np.ndarray) -> bool:
    n, k = q.shape[-2:]
    product = np.swapaxes(q.conj(), -1, -2) @ q
    return np.allclose(product, np.eye(k, dtype=q.dtype), atol=10.0 * n * np.finfo(q.dtype).eps)


def _made_orthogonal(a: np.ndarray) -> np.ndarray:
    """Return the orthogonal factor whose triangular one has a positive diagonal."""
    q, r = np.linalg.qr(a)
    return q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Map | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal: its columns, or its rows if there are more columns, are orthonormal.

    Args:
        module: the module.
        name: the name of the weight.
        orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; by default the first for square and
            complex matrices, and the last for others.
        use_trivialization: whether the parameters are relative to the weight's present value.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such weight, it has fewer than two axes, or the map is unknown.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import parametrizations
        >>> w = parametrizations.orthogonal(nn.Linear(2, 3)).weight
        >>> bool(np.allclose((w.T @ w).detach(), np.eye(2), atol=1e-6))
        True

    Source: ``torch.nn.utils.parametrizations.orthogonal``; Lezcano-Casado, *Trivializations for gradient-based
    optimization on manifolds* (2019).
    """
    weight = weight_of(module, name)
    if len(weight.shape) < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {len(weight.shape)} dimensions.")
    is_square = weight.shape[-2] == weight.shape[-1]
    chosen = orthogonal_map or ("matrix_exp" if is_square or weight.dtype.kind == "c" else "householder")
    if chosen not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


__dir__ = publish(__name__)
