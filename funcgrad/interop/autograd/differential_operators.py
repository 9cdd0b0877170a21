"""autograd's derivative operators, implemented with funcgrad's."""

from funcgrad._public import publish
from funcgrad._transforms.control.checkpoint import checkpoint
from funcgrad.interop.autograd._gradients import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    holomorphic_grad,
    jacobian,
    multigrad_dict,
    value_and_grad,
)
from funcgrad.interop.autograd._products import (
    hessian_tensor_product,
    hessian_vector_product,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    tensor_jacobian_product,
    vector_jacobian_product,
)

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

__dir__ = publish(__name__)
