"""Plain NumPy functions in; gradients, graphs and XLA programs out."""

from funcgrad import _engines as _engines
from funcgrad import _report as _report
from funcgrad import autograd, errors, extend, interop, nn, numpy, optim, random, scipy, sharding, sparse, testing, tree
from funcgrad._core.bind import Tracer, is_traced
from funcgrad._core.graph.ir import Graph
from funcgrad._core.tracebacks import full_tracebacks
from funcgrad._public import publish
from funcgrad._transforms.base.shape_dtype import ShapeDtype
from funcgrad._transforms.base.stage import make_graph
from funcgrad._transforms.compiled.jit import jit
from funcgrad._transforms.control.checkpoint import checkpoint
from funcgrad._transforms.control.loops import cond, fori_loop, scan, while_loop
from funcgrad._transforms.custom.callback import call_numpy
from funcgrad._transforms.custom.decorators import custom_jvp, custom_vjp
from funcgrad._transforms.custom.implicit import implicit_root
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._transforms.debug import debug_nans
from funcgrad._transforms.derivative.forward import jvp, linearize
from funcgrad._transforms.derivative.higher_order import hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad._transforms.derivative.reverse import grad, value_and_grad, vjp
from funcgrad._transforms.effects import debug_print
from funcgrad._transforms.effects import stop as breakpoint  # noqa: A004  (Python's name for what it is)
from funcgrad._transforms.named import named
from funcgrad._transforms.tap import tap, taps
from funcgrad._transforms.vmap import vmap
from funcgrad.interop.jax import from_jax, to_jax
from funcgrad.interop.linear_operator import linear_operator
from funcgrad.io import CheckpointDir, load, save
from funcgrad.numpy.extend import intercept
from funcgrad.optim import SGDState, sgd_init, sgd_update
from funcgrad.testing import check_grads

__all__ = [
    "CheckpointDir",
    "Graph",
    "SGDState",
    "ShapeDtype",
    "Tracer",
    "autograd",
    "breakpoint",
    "call_numpy",
    "check_grads",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "debug_print",
    "errors",
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
    "is_traced",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_operator",
    "linearize",
    "load",
    "make_graph",
    "named",
    "nn",
    "numpy",
    "optim",
    "random",
    "save",
    "scan",
    "scipy",
    "sgd_init",
    "sgd_update",
    "sharding",
    "sparse",
    "stop_gradient",
    "tap",
    "taps",
    "testing",
    "to_jax",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
__version__ = "0.1.0"

__dir__ = publish(__name__)
