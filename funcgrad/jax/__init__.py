"""JAX's names over funcgrad: ``import funcgrad.jax as jax``, and a program of JAX's runs here, in 64 bits.

Each name is one of funcgrad's, or a few lines around it. Arrays are `Array`: NumPy arrays that never change. A name
that is missing says why. JAX itself is imported when `jit` compiles, or when a name needs it.
"""

from funcgrad import errors as errors
from funcgrad._core.lazy import load as _load
from funcgrad._transforms.base.shape_dtype import ShapeDtype as ShapeDtypeStruct
from funcgrad.jax import (
    checkpoint_policies as checkpoint_policies,
    debug as debug,
    dtypes as dtypes,
    flatten_util as flatten_util,
    image as image,
    lax as lax,
    nn as nn,
    numpy as numpy,
    ops as ops,
    random as random,
    tree as tree,
    tree_util as tree_util,
    typing as typing,
)
from funcgrad.jax._array import Array as Array
from funcgrad.jax._compiled import (
    block_until_ready as block_until_ready,
    check_tracer_leaks as check_tracer_leaks,
    checking_leaks as checking_leaks,
    clear_caches as clear_caches,
    debug_infs as debug_infs,
    log_compiles as log_compiles,
    numpy_dtype_promotion as numpy_dtype_promotion,
    config as config,
    copy_to_host_async as copy_to_host_async,
    debug_nans as debug_nans,
    default_backend as default_backend,
    device_count as device_count,
    device_get as device_get,
    device_put as device_put,
    devices as devices,
    disable_jit as disable_jit,
    enable_x64 as enable_x64,
    ensure_compile_time_eval as ensure_compile_time_eval,
    jit as jit,
    local_device_count as local_device_count,
    local_devices as local_devices,
    named_call as named_call,
    named_scope as named_scope,
    process_count as process_count,
    process_index as process_index,
    pure_callback as pure_callback,
)
from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax._transforms import (
    checkpoint as checkpoint,
    checkpoint as remat,
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    eval_shape as eval_shape,
    grad as grad,
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    make_jaxpr as make_jaxpr,
    typeof as typeof,
    value_and_grad as value_and_grad,
    vjp as vjp,
    vmap as vmap,
)

# SciPy's modules take long to load, and JAX's own package loads them late as well.
__dir__, __getattr__ = _publish(
    __name__,
    arrays=False,
    later={"scipy": lambda: _load("funcgrad.jax.scipy")},
    jaxs=(
        *("Device", "NamedSharding", "P", "Shard", "default_device", "default_matmul_precision", "distributed"),
        *(
            "effects_barrier",
            "make_mesh",
            "print_environment_info",
            "process_indices",
            "profiler",
            "set_mesh",
            "sharding",
        ),
    ),
)
