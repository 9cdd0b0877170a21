"""Mistakes in a call's arguments: missing derivatives, unsupported functions and arrays, trees that differ."""

from __future__ import annotations

from numpy.linalg import LinAlgError


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
    """A derivative was requested with respect to an integer or bool, or of an operation that has no derivative.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x * x)(3)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.NotDifferentiableError

    Pass a floating-point number, or select the argument to differentiate with `argnums`:

    >>> print(float(fg.grad(lambda x: x * x)(3.0)))
    6.0
    >>> print(float(fg.grad(lambda n, x: x**n, argnums=1)(3, 2.0)))
    12.0
    """


class ImplicitRuleError(RuntimeError, LinAlgError):
    """The derivative of a root or a minimizer was requested where the implicit function theorem does not hold.

    The solver did not converge, the function has a kink or a jump there, or its derivatives are singular.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def least(a):
    ...     return fg.scipy.optimize.minimize_scalar(lambda x: abs(x**2 - a), bounds=(0, 3)).x
    >>> fg.grad(least)(2.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.ImplicitRuleError

    The message names what does not hold. The minimum of ``abs`` is a root of the function inside:

    >>> def root(a):
    ...     return fg.scipy.optimize.brentq(lambda x: x**2 - a, 0, 3)
    >>> print(round(float(fg.grad(root)(2.0)), 6))
    0.353553
    """


class UnsupportedFunctionError(NotImplementedError):
    """A traced value was passed to a NumPy function, or to an option of one, that funcgrad does not have.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def loss(x):
    ...     return np.sum(np.busday_count(x, x))
    >>> fg.grad(loss)(np.array([1.0, 2.0]))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.UnsupportedFunctionError

    The message names a replacement if there is one. To use the result as a constant, pass the plain value
    `fg.stop_gradient(x)`.
    """


class ForeignArrayError(TypeError):
    """A traced value was combined with, or assigned to, an array of a foreign type.

    Foreign types are masked arrays, arrays with units, matrices, text and general Python objects.

    These types have their own arithmetic, for which funcgrad has no derivatives:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> m = np.ma.masked_array([1.0, 2.0], [False, True])
    >>> fg.grad(lambda x: np.sum(np.multiply(x, m)))(np.ones(2))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.ForeignArrayError

    Express the computation in plain arrays:

    >>> seen = ~np.ma.getmaskarray(m)
    >>> fg.grad(lambda x: np.sum(x * np.where(seen, m.filled(0.0), 0.0)))(np.ones(2))
    array([1., 0.])

    An object array whose elements are real numbers is converted to an array of these numbers.
    """


class TreeMismatchError(ValueError):
    """Two pytrees, or two leaves at the same key path, do not match. The message names the key path.

    >>> import funcgrad as fg
    >>> params = {"weight": 1.0, "bias": 0.5}
    >>> fg.tree.map(lambda p, g: p - 0.5 * g, params, {"weight": 2.0})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TreeMismatchError

    Pass a second tree that has all the keys of the first:

    >>> fg.tree.map(lambda p, g: p - 0.5 * g, params, {"weight": 2.0, "bias": 0.0})
    {'weight': 0.0, 'bias': 0.5}
    """


class GraphError(ValueError):
    """A graph is no valid program: a variable is read before it is assigned, or a result has another type.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> graph = fg.make_graph(lambda x: np.sin(x) + 1)(2.0)
    >>> fg.Graph(graph.inputs, (), graph.equations[1:], graph.outputs)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.GraphError

    Keep the equations whose results the other equations read:

    >>> same = fg.Graph(graph.inputs, (), graph.equations, graph.outputs)
    """


class HyperparameterError(ValueError):
    """An optimizer was given a hyperparameter outside its range; NaN is outside every range.

    >>> import funcgrad as fg
    >>> fg.sgd_init({"weight": 1.0}, lr=-0.1)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.HyperparameterError

    A learning rate is zero or positive; to ascend, set ``maximize``:

    >>> state = fg.sgd_init({"weight": 1.0}, lr=0.1, maximize=True)
    """


class RuleError(ValueError):
    """The step of an optimizer's rule (`fg.extend.Rule`) does not do what the rule declares.

    A rule is elementwise unless it declares otherwise. The mean of a gradient depends on all of its elements:

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


class PatternSizeError(MemoryError):
    """`fg.sparse` met a derivative with more nonzero elements than it was allowed to hold.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.sparse.jacobian(np.cumsum, max_nonzeros=1000)(np.ones(100))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.PatternSizeError

    Raise ``max_nonzeros`` if there is memory for them:

    >>> fg.sparse.jacobian(np.cumsum, max_nonzeros=10_000)(np.ones(100)).nnz
    5050
    """


class ProgramSizeError(MemoryError):
    """A function became a program of so many equations that compiling it would take many minutes, or all memory.

    A Python loop whose rounds differ in the shapes of their arrays has equations for each round. Of 1,000 rows there
    are half a million pairs:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def products(a):
    ...     return sum(a[i, :j] @ a[j, :j] for i in range(len(a)) for j in range(i))
    >>> fg.jit(products, engine="numpy")(np.ones((1000, 1000)))  # doctest: +SKIP
    Traceback (most recent call last):
    funcgrad.errors.ProgramSizeError

    The message names the lines that make most of the program. Operations on whole arrays need no loop:

    >>> def products_at_once(a):
    ...     return np.sum(np.tril(a @ np.tril(a, -1).T, -1))
    >>> a = np.arange(16.0).reshape(4, 4)
    >>> float(products(a)), float(fg.jit(products_at_once, engine="numpy")(a))
    (293.0, 293.0)
    """


class SparseGradientError(HyperparameterError, RuntimeError):
    """An optimizer got a gradient in rows (`fg.sparse.Rows`) that its rule or its weight decay cannot use.

    PyTorch raises a ``RuntimeError`` in this case. Weight decay, for example, would change the rows in the gradient and
    no others:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> table = np.ones((4, 2))
    >>> rows = fg.sparse.Rows(np.array([1]), np.ones((1, 2)), (4, 2))
    >>> state = fg.sgd_init(table, lr=0.1, weight_decay=0.01)
    >>> fg.sgd_update(rows, state, table)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.SparseGradientError

    Set the term to zero, or pass the gradient as a dense array:

    >>> table, state = fg.sgd_update(rows.todense(), state, table)
    """


class NonFiniteError(FloatingPointError):
    """Inside `fg.debug_nans`, an operation returned a NaN or an infinity for finite operands.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> with fg.debug_nans(), np.errstate(divide="ignore"):
    ...     fg.grad(lambda x: np.sqrt(x))(0.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.NonFiniteError

    The message names the operation, its source line and its operands. Keep the operand inside the domain:

    >>> with fg.debug_nans():
    ...     print(fg.grad(lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))(0.0))
    0.0
    """


class CheckpointError(ValueError):
    """A file does not hold the expected tree.

    It is cut short, damaged, of another program, of a newer release, or it holds another tree.

    >>> import os, tempfile
    >>> import funcgrad as fg
    >>> path = os.path.join(tempfile.mkdtemp(), "params.safetensors")
    >>> fg.save(path, {"w": 1.0})
    >>> fg.load(path, like={"w": 1.0, "b": 0.0})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.CheckpointError

    `load` returns a whole tree or raises. Pass a tree like the saved one, or none to see the contents of the file:

    >>> fg.load(path)
    {'w': 1.0}
    """


class GradientMismatchError(AssertionError):
    """`check_grads` found a derivative that differs from the finite differences of the function.

    Here `stop_gradient` removes one factor from the derivative:

    >>> import funcgrad as fg
    >>> fg.check_grads(lambda x: x * fg.stop_gradient(x), (3.0,))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.GradientMismatchError

    The message names the argument, the mode and the order. The check of a right derivative passes silently:

    >>> fg.check_grads(lambda x: x * x, (3.0,))
    """


class ObjectArrayWarning(UserWarning):
    """NumPy stored tracers one by one in an object array. The derivative is right, but slow to compute.

    `np.array([x[0], x[1]])` and `np.asarray(x)` call no method that a tracer could override, so NumPy makes an array of
    Python objects. So does the method `a.dot(x)` of a plain array, for which `a @ x` is whole. The warning is given
    once per call site. This function is faster and gives no warning:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def swapped_square(x):
    ...     return np.sum(np.stack([x[1], x[0]]) ** 2)  # rather than np.array([x[1], x[0]])
    >>> print(fg.grad(swapped_square)(np.array([1.0, 2.0])))
    [2. 4.]
    """


class HiddenDependenceWarning(UserWarning):
    """A result depends on an argument through branches or rounding alone, so that its derivative is 0.

    A search by comparisons ends at a number that the argument moves, but no operation leads from the argument to it.
    The warning names the lines that compare or round. This function has the derivative that the search lacks:

    >>> import funcgrad as fg
    >>> def root(a):
    ...     return fg.scipy.optimize.brentq(lambda x: x * x - a, 0.0, 10.0)  # rather than a loop that halves [0, 10]
    >>> round(float(fg.grad(root)(4.0)), 6)
    0.25

    The warning is given if a comparison gave both answers, as in a search. If the result is constant between the
    branches, compare ``fg.stop_gradient(a)``.
    """


class StagedRandomWarning(UserWarning):
    """A staged function drew from `numpy.random`. Its numbers are constants in the compiled program.

    >>> from funcgrad import random; noisy = lambda key, x: x + random.normal(key, x.shape)  # not np.random.normal()
    """


class LargeProgramWarning(UserWarning):
    """A function compiled for XLA became a program of more than 8,000 equations, which takes long to compile.

    A long Python loop whose rounds differ gives such a program. XLA compiles it in stretches, at some 1,000 equations a
    second. Inside a function that `jax.jit` compiles it is one program, which may not end. The warning is given once
    for each function. The body of `fori_loop` is compiled once:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def settled(x):
    ...     return fg.fori_loop(0, 10_000, lambda i, x: np.cos(x), x)  # rather than for i in range(10_000)
    >>> round(float(fg.jit(settled)(1.0)), 6)
    0.739085
    """


class PathsWarning(UserWarning):
    """A function compiled with ``fg.jit(f, paths=n)`` took more than n paths, and runs eagerly where a path is new.

    Each way through the branches of a function is a path. The warning names the lines that branch. Here each number of
    rounds is a path:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.jit(paths=2, engine="numpy")
    ... def root(a):
    ...     x = a
    ...     while abs(x * x - a) > 1e-9:
    ...         x = 0.5 * (x + a / x)
    ...     return x
    >>> [round(float(root(a)), 6) for a in (4.0, 9.0)]
    [2.0, 3.0]

    Raise ``paths``, or write a loop of many rounds with `while_loop`:

    >>> @fg.jit(engine="numpy")
    ... def root(a):
    ...     return fg.while_loop(lambda x: np.abs(x * x - a) > 1e-9, lambda x: 0.5 * (x + a / x), a)
    >>> round(float(root(4.0)), 6)
    2.0
    """


class WideningWarning(UserWarning):
    """A function compiled for XLA got float32 arrays of JAX and returned float64, because of an array that it made.

    The warning is given once for each function, with the line. NumPy's makers give float64:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def ramp(x):
    ...     return x * np.linspace(0, 1, 2, dtype=x.dtype)  # rather than np.linspace(0, 1, 2)
    >>> fg.jit(ramp, engine="numpy")(np.ones(2, np.float32)).dtype
    dtype('float32')
    """
