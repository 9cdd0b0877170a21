"""Mistakes in what was asked for: derivatives, functions, arrays, trees and hyperparameters that do not fit."""

from __future__ import annotations


class NonScalarOutputError(TypeError):
    """`grad` was asked for the gradient of a function whose result is not a single number.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x**2)(np.array([1.0, 2.0]))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.NonScalarOutputError

    Reduce the result, or choose the weights of its elements with `vjp`:

    >>> print(fg.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0])))
    [2. 4.]
    >>> _, pullback = fg.vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> print(pullback(np.array([1.0, 0.5]))[0])
    [2. 2.]
    """


class NotDifferentiableError(TypeError):
    """A derivative was asked by an integer or bool, or through something that has none.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x * x)(3)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.NotDifferentiableError

    Pass a floating-point number, or name the argument that is meant with `argnums`:

    >>> print(float(fg.grad(lambda x: x * x)(3.0)))
    6.0
    >>> print(float(fg.grad(lambda n, x: x**n, argnums=1)(3, 2.0)))
    12.0
    """


class UnsupportedFunctionError(NotImplementedError):
    """A traced value met a NumPy function, or an option of one, that funcgrad does not have.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def loss(x):
    ...     return np.sum(np.busday_count(x, x))
    >>> fg.grad(loss)(np.array([1.0, 2.0]))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.UnsupportedFunctionError

    The message names what stands for it, where there is something. Where the result is meant to count as a constant,
    hand the plain value over with `fg.stop_gradient(x)`.
    """


class ForeignArrayError(TypeError):
    """A traced value met, or was to become, what is no array of numbers: a mask, units, a matrix, text, objects.

    Such arrays compute by rules of their own, which have no derivatives here:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> m = np.ma.masked_array([1.0, 2.0], [False, True])
    >>> fg.grad(lambda x: np.sum(np.multiply(x, m)))(np.ones(2))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.ForeignArrayError

    Say in plain arrays what is meant:

    >>> seen = ~np.ma.getmaskarray(m)
    >>> fg.grad(lambda x: np.sum(x * np.where(seen, m.filled(0.0), 0.0)))(np.ones(2))
    array([1., 0.])

    Arrays of Python objects that are real numbers are taken as the arrays of these numbers.
    """


class TreeMismatchError(ValueError):
    """Two pytrees, or two leaves at the same place, do not fit together. The message names the key path.

    >>> import funcgrad as fg
    >>> params = {"weight": 1.0, "bias": 0.5}
    >>> fg.tree.map(lambda p, g: p - 0.5 * g, params, {"weight": 2.0})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TreeMismatchError

    Give the tree all the keys that the first one has:

    >>> fg.tree.map(lambda p, g: p - 0.5 * g, params, {"weight": 2.0, "bias": 0.0})
    {'weight': 0.0, 'bias': 0.5}
    """


class GraphError(ValueError):
    """A graph was made that is no program: a variable is read before it is assigned, or a result has another type.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> graph = fg.make_graph(lambda x: np.sin(x) + 1)(2.0)
    >>> fg.Graph(graph.inputs, (), graph.equations[1:], graph.outputs)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.GraphError

    Keep the equations that the others read:

    >>> same = fg.Graph(graph.inputs, (), graph.equations, graph.outputs)
    """


class HyperparameterError(ValueError):
    """An optimizer was given a hyperparameter outside its range; NaN is outside every range.

    >>> import funcgrad as fg
    >>> fg.sgd_init({"weight": 1.0}, lr=-0.1)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.HyperparameterError

    Learning rates are zero or positive; to go uphill, turn the direction around:

    >>> state = fg.sgd_init({"weight": 1.0}, lr=0.1, maximize=True)
    """


class RuleError(ValueError):
    """The step of an optimizer's rule (`fg.extend.Rule`) does not do what the rule declares.

    A rule is elementwise unless it says otherwise; the mean of a gradient depends on all of its elements:

    >>> import numpy as np
    >>> from funcgrad.extend import Number, Rule, optimizer
    >>> def step(p, g, slots, hyper, t):
    ...     return p - hyper.lr * (g - np.mean(g)), {}
    >>> _, init, update, _ = optimizer(Rule("centred", (Number("lr", 0.1),), (), step))
    >>> p = np.array([1.0, 2.0, 3.0])
    >>> update(p, init(p), p)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.RuleError

    Declare that the step needs the whole parameter:

    >>> _, init, update, _ = optimizer(Rule("centred", (Number("lr", 0.1),), (), step, elementwise=False))
    >>> update(p, init(p), p)[0]
    array([1.1, 2. , 2.9])
    """


class SparseGradientError(HyperparameterError, RuntimeError):
    """An optimizer was given a gradient in rows (`fg.sparse.Rows`) that its rule, or its weight decay, does not take.

    PyTorch raises a ``RuntimeError`` there. Weight decay, say, would move the rows that are there and not the others:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> table = np.ones((4, 2))
    >>> rows = fg.sparse.Rows(np.array([1]), np.ones((1, 2)), (4, 2))
    >>> state = fg.sgd_init(table, lr=0.1, weight_decay=0.01)
    >>> fg.sgd_update(rows, state, table)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.SparseGradientError

    Turn the term off, or pass the gradient in full:

    >>> table, state = fg.sgd_update(rows.todense(), state, table)
    """


class NonFiniteError(FloatingPointError):
    """Inside `fg.debug_nans` an operation made a NaN or an infinity out of finite numbers.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> with fg.debug_nans(), np.errstate(divide="ignore"):
    ...     fg.grad(lambda x: np.sqrt(x))(0.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.NonFiniteError

    The message names the operation, its line and what it read. Keep the operand inside the domain:

    >>> with fg.debug_nans():
    ...     print(fg.grad(lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))(0.0))
    0.0
    """


class CheckpointError(ValueError):
    """A file cannot be read as the tree that it should hold: cut short, damaged, foreign, newer, or another tree.

    >>> import os, tempfile
    >>> import funcgrad as fg
    >>> path = os.path.join(tempfile.mkdtemp(), "params.safetensors")
    >>> fg.save(path, {"w": 1.0})
    >>> fg.load(path, like={"w": 1.0, "b": 0.0})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.CheckpointError

    Nothing is half loaded. Pass a tree like the one that was saved, or none to see what the file holds:

    >>> fg.load(path)
    {'w': 1.0}
    """


class GradientMismatchError(AssertionError):
    """`check_grads` found a derivative that differs from what differences of the function give.

    Here one factor is cut off from the derivative:

    >>> import funcgrad as fg
    >>> fg.check_grads(lambda x: x * fg.stop_gradient(x), (3.0,))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.GradientMismatchError

    The message says by which argument, in which mode and at which order. Repaired, the check is silent:

    >>> fg.check_grads(lambda x: x * x, (3.0,))
    """


class ObjectArrayWarning(UserWarning):
    """Tracers were put into an object array, one by one. The derivative is right, but slow.

    `np.array([x[0], x[1]])` and `np.asarray(x)` offer no hook to a tracer, so NumPy makes an array of Python objects.
    The warning is given once per call site. To be fast, and to be rid of it, say what is meant:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def swapped_square(x):
    ...     return np.sum(np.stack([x[1], x[0]]) ** 2)  # rather than np.array([x[1], x[0]])
    >>> print(fg.grad(swapped_square)(np.array([1.0, 2.0])))
    [2. 4.]
    """


class StagedRandomWarning(UserWarning):
    """A function drew from `numpy.random` while it was staged: in the program its numbers are constants.

    >>> from funcgrad import random; noisy = lambda key, x: x + random.normal(key, x.shape)  # not np.random.normal()
    """


class LargeProgramWarning(UserWarning):
    """A function compiled for XLA became a program of more than 8,000 equations, which takes minutes to compile.

    That is what a long Python loop leaves, which is unrolled. The warning is given once for each function. A loop that
    is said to be one is compiled once:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def settled(x):
    ...     return fg.fori_loop(0, 10_000, lambda i, x: np.cos(x), x)  # rather than for i in range(10_000)
    >>> round(float(fg.jit(settled)(1.0)), 6)
    0.739085
    """
