"""The names for adding primitives and optimizers of your own to funcgrad.

A *primitive* is one record: a name, an implementation on NumPy, one on XLA, a rule for shape and dtype, a derivative,
a batching rule and a cost. Declared, it is differentiated, batched, staged, compiled and checked as ours are:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import extend
    >>> softplus_p = extend.elementwise(
    ...     "softplus",
    ...     "x",
    ...     numpy=lambda x: np.logaddexp(x, 0),
    ...     xla=lambda lax, x: lax.add(lax.max(x, lax.full_like(x, 0)), lax.log1p(lax.exp(lax.neg(lax.abs(x))))),
    ...     maps=[lambda t, x: t / (1 + np.exp(-x))],
    ... )
    >>> x = np.array([-1.0, 0.0, 2.0])
    >>> fg.grad(lambda x: np.sum(softplus_p(x)))(x).round(3)
    array([0.269, 0.5  , 0.881])
    >>> fg.check_grads(softplus_p, (x,))

An *optimizer* is one record too, a `Rule`: its hyperparameters, what it keeps of a parameter from step to step, and
the step, written once; `optimizer` makes its functions and PyTorch's class of it.

A *pass* makes a graph of a graph. A graph has inputs, constants, equations and outputs; a pass makes an `Equation` for
each that it changes, with a `Var` or `Literal` for each operand, and ``fg.Graph`` of all. It is checked: `check_graph`.

``docs/extending/primitive.md`` and ``docs/extending/optimizer.md`` go through an example of each.
"""

from funcgrad._core.aval import Aval, aval_of, is_inexact, result_dtype
from funcgrad._core.graph.ir import Equation, Literal, Var, check_graph
from funcgrad._core.primitive import Primitive, keep_names
from funcgrad._core.trace.derivative import CONSTANT, JointlyLinear, Undefined
from funcgrad._core.trace.user_rules import UsersMultilinear as Multilinear
from funcgrad._core.trace.user_rules import UsersPerOperand as PerOperand
from funcgrad._core.words import in_our_words
from funcgrad._ops.elementwise.families import Elementwise, broadcast_aval, predicate
from funcgrad._ops.elementwise.families import declare_elementwise as elementwise
from funcgrad._ops.layout.batching import batch_axes, batch_same
from funcgrad._ops.layout.broadcast import batch_all, with_batch
from funcgrad._public import publish
from funcgrad.numpy.extend import as_value, dtype_of, implements, operands_for, promote
from funcgrad.optim.extend import (
    REQUIRED,
    Choice,
    Declared,
    Flag,
    Number,
    PyTorch,
    Rule,
    RuleOptimizer,
    Slot,
    State,
    optimizer,
)

# From here on others declare primitives, which may not take a name of the library's.
keep_names()

batch_same, broadcast_aval, is_inexact, operands_for = map(
    in_our_words, (batch_same, broadcast_aval, is_inexact, operands_for)
)

__all__ = [
    "CONSTANT",
    "REQUIRED",
    "Aval",
    "Choice",
    "Declared",
    "Elementwise",
    "Equation",
    "Flag",
    "JointlyLinear",
    "Literal",
    "Multilinear",
    "Number",
    "PerOperand",
    "Primitive",
    "PyTorch",
    "Rule",
    "RuleOptimizer",
    "Slot",
    "State",
    "Undefined",
    "Var",
    "as_value",
    "aval_of",
    "batch_all",
    "batch_axes",
    "batch_same",
    "broadcast_aval",
    "check_graph",
    "dtype_of",
    "elementwise",
    "implements",
    "is_inexact",
    "operands_for",
    "optimizer",
    "predicate",
    "promote",
    "result_dtype",
    "with_batch",
]

__dir__ = publish(__name__)
