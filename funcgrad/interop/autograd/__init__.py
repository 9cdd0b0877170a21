"""autograd's public names: a package written for autograd moves here if it changes its imports.

    from autograd import grad             becomes  from funcgrad.interop.autograd import grad
    import autograd.numpy as np           becomes  import funcgrad.interop.autograd.numpy as np
    from autograd.scipy.stats import norm becomes  from funcgrad.interop.autograd.scipy.stats import norm

Plain ``import numpy as np`` works too. ``docs/start/from_autograd.md`` lists the differences.
"""

from funcgrad._public import publish
from funcgrad.interop.autograd.builtins import dict, isinstance, list, tuple, type  # noqa: A004  (autograd's names)
from funcgrad.interop.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from funcgrad.interop.autograd.extend import primitive

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]

__dir__ = publish(__name__)
