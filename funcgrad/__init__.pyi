# The public names of funcgrad. `__init__.py` loads each one from the module named here when it is first used.

from . import (
    autograd as autograd,
    errors as errors,
    extend as extend,
    interop as interop,
    io as io,
    jax as jax,
    nn as nn,
    numpy as numpy,
    optim as optim,
    random as random,
    scipy as scipy,
    sharding as sharding,
    sparse as sparse,
    testing as testing,
    torch as torch,
    tree as tree,
)
from ._core.bind import Tracer as Tracer, is_traced as is_traced
from ._core.graph.ir import Graph as Graph
from ._core.tracebacks import full_tracebacks as full_tracebacks
from ._transforms.base.shape_dtype import ShapeDtype as ShapeDtype
from ._transforms.base.stage import eval_shape as eval_shape, make_graph as make_graph
from ._transforms.compiled.jit import jit as jit
from ._transforms.control.associative import associative_scan as associative_scan
from ._transforms.control.checkpoint import (
    checkpoint as checkpoint,
    dots_saveable as dots_saveable,
    everything_saveable as everything_saveable,
    nothing_saveable as nothing_saveable,
    save_only_these_names as save_only_these_names,
)
from ._transforms.control.loops import cond as cond, fori_loop as fori_loop, scan as scan, while_loop as while_loop
from ._transforms.control.switch import switch as switch
from ._transforms.custom.callback import call_numpy as call_numpy
from ._transforms.custom.decorators import custom_jvp as custom_jvp, custom_vjp as custom_vjp
from ._transforms.custom.implicit import implicit_root as implicit_root
from ._transforms.custom.stop_gradient import stop_gradient as stop_gradient
from ._transforms.debug import debug_nans as debug_nans
from ._transforms.derivative.delta_method import delta_method as delta_method
from ._transforms.derivative.forward import jvp as jvp, linearize as linearize
from ._transforms.derivative.higher_order import (
    hessian as hessian,
    hvp as hvp,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
)
from ._transforms.derivative.jet import jet as jet
from ._transforms.derivative.laplacian import laplacian as laplacian
from ._transforms.derivative.reverse import grad as grad, value_and_grad as value_and_grad, vjp as vjp
from ._transforms.effects import breakpoint as breakpoint, debug_print as debug_print
from ._transforms.named import named as named
from ._transforms.named_axis import (
    all_gather as all_gather,
    axis_index as axis_index,
    pmax as pmax,
    pmean as pmean,
    pmin as pmin,
    psum as psum,
)
from ._transforms.tap import tap as tap, taps as taps
from ._transforms.vmap import vmap as vmap
from .interop.jax import from_jax as from_jax, to_jax as to_jax
from .interop.linear_operator import linear_operator as linear_operator
from .io import CheckpointDir as CheckpointDir, load as load, save as save
from .numpy.extend import intercept as intercept, numpy_promotion as numpy_promotion
from .optim import SGDState as SGDState, sgd_init as sgd_init, sgd_update as sgd_update
from .testing import check_grads as check_grads

__version__: str

__all__ = [
    "CheckpointDir",
    "Graph",
    "SGDState",
    "ShapeDtype",
    "Tracer",
    "all_gather",
    "associative_scan",
    "autograd",
    "axis_index",
    "breakpoint",
    "call_numpy",
    "check_grads",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "debug_print",
    "delta_method",
    "dots_saveable",
    "errors",
    "eval_shape",
    "everything_saveable",
    "extend",
    "fori_loop",
    "from_jax",
    "full_tracebacks",
    "grad",
    "hessian",
    "hvp",
    "implicit_root",
    "intercept",
    "interop",
    "io",
    "is_traced",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jax",
    "jet",
    "jit",
    "jvp",
    "laplacian",
    "linear_operator",
    "linearize",
    "load",
    "make_graph",
    "named",
    "nn",
    "nothing_saveable",
    "numpy",
    "numpy_promotion",
    "optim",
    "pmax",
    "pmean",
    "pmin",
    "psum",
    "random",
    "save",
    "save_only_these_names",
    "scan",
    "scipy",
    "sgd_init",
    "sgd_update",
    "sharding",
    "sparse",
    "stop_gradient",
    "switch",
    "tap",
    "taps",
    "testing",
    "to_jax",
    "torch",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
