"""The named errors of funcgrad: one class per mistake, each with the failing call and the repaired one.

Every class derives from the builtin that a caller expects, so ``except TypeError`` keeps working. Where JAX has the
same mistake the class has JAX's name. Messages have three sentences: what was asked and where, what arrived against
what was needed, and what to do.
"""

from funcgrad._public import publish

__all__ = [
    "ConcretizationTypeError",
    "ForeignArrayError",
    "GradientMismatchError",
    "HyperparameterError",
    "NonConcreteBooleanIndexError",
    "NonScalarOutputError",
    "NotDifferentiableError",
    "ObjectArrayWarning",
    "OverwrittenError",
    "SparseGradientError",
    "StagedRandomWarning",
    "TracerArrayConversionError",
    "TracerAssignmentError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TreeMismatchError",
    "UnexpectedTracerError",
    "UnsupportedFunctionError",
]


class ConcretizationTypeError(TypeError):
    """A traced value was asked to become an ordinary Python or NumPy value.

    A tracer stands for an array while a transform runs. `float(x)`, `int(x)`, `x.item()` and `math.sin(x)` would take
    the number out of it, and the derivative would be lost without a word. So they are refused:

    >>> import math
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: math.sin(x) * x)(2.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.ConcretizationTypeError

    Stay in NumPy, and the derivative goes through:

    >>> print(round(float(fg.grad(lambda x: np.sin(x) * x)(2.0)), 4))
    0.077

    Where the number is really meant to count as a constant, say so:

    >>> def scaled(x):
    ...     constant = float(fg.stop_gradient(x))
    ...     return constant * x
    >>> print(float(fg.grad(scaled)(2.0)))
    2.0

    Under `jit` there is no number to take: make such an argument static with `static_argnums`, or keep it an array.
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A branch (`if`, `while`, `and`, `not`) depends on a traced value that has no value yet.

    Under `jit` a function runs once, on shapes and dtypes alone, and the program must not depend on the numbers:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.jit
    ... def relu(x):
    ...     return x if x > 0 else 0.0 * x
    >>> relu(3.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TracerBoolConversionError

    Compute both sides and select; or make the argument static with `static_argnums`:

    >>> @fg.jit
    ... def relu(x):
    ...     return np.where(x > 0, x, 0.0 * x)
    >>> print(float(relu(3.0)))
    3.0

    `grad` and `jvp` of NumPy values run eagerly. There the value is known, and branching on it just works.
    """


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced array was handed to code that wants a plain `numpy.ndarray`.

    NumPy has no hook for `np.asarray(x)`. Small tracers become object arrays of 0-d tracers and still differentiate
    (see `ObjectArrayWarning`), but past 4,096 elements the conversion is refused:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def energy(x):
    ...     return np.sum(np.asarray(x) ** 2)
    >>> fg.grad(energy)(np.ones(5000))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TracerArrayConversionError

    Leave the conversion out, or use the one that knows tracers:

    >>> import funcgrad.numpy as fnp
    >>> def energy(x):
    ...     return np.sum(fnp.asarray(x) ** 2)
    >>> print(fg.grad(energy)(np.ones(5000))[:3])
    [2. 2. 2.]
    """


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used where Python needs an integer: a list index, `range`, a shape, an axis.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> tables = [1.0, 10.0, 100.0]
    >>> fg.jit(lambda i, x: tables[i] * x)(1, 2.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TracerIntegerConversionError

    Index an array instead of a list, or make the argument static:

    >>> table = np.array(tables)
    >>> print(float(fg.jit(lambda i, x: table[i] * x, static_argnums=0)(1, 2.0)))
    20.0
    """


class NonConcreteBooleanIndexError(ConcretizationTypeError, IndexError):
    """An array was indexed by a traced mask, so that the shape of the result would depend on the numbers.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.jit
    ... def positive_sum(x):
    ...     return np.sum(x[x > 0])
    >>> positive_sum(np.array([1.0, -2.0, 3.0]))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.NonConcreteBooleanIndexError

    Select with `np.where`, which keeps the shape:

    >>> @fg.jit
    ... def positive_sum(x):
    ...     return np.sum(np.where(x > 0, x, 0.0))
    >>> print(float(positive_sum(np.array([1.0, -2.0, 3.0]))))
    4.0
    """


class UnexpectedTracerError(TypeError):
    """A tracer was used after the transform that made it had ended.

    Something outside the function kept an intermediate value:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> kept = []
    >>> def loss(x):
    ...     kept.append(np.sin(x))
    ...     return x * x
    >>> _ = fg.grad(loss)(2.0)
    >>> kept[0] + 1.0  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.UnexpectedTracerError

    Return it instead, with `has_aux`:

    >>> def loss(x):
    ...     return x * x, np.sin(x)
    >>> gradient, sine = fg.grad(loss, has_aux=True)(2.0)
    >>> print(float(gradient), round(float(sine), 3))
    4.0 0.909
    """


class OverwrittenError(RuntimeError):
    """A plain array was written to after the operation that used it, and before the derivative reads it.

    Of small arrays the tape keeps copies. Of large ones it notices that they changed:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def loss(x):
    ...     weights, total = np.ones(1000), 0.0
    ...     for _ in range(3):
    ...         total = total + np.sum(np.sin(x * weights))
    ...         weights *= 2
    ...     return total
    >>> fg.grad(loss)(np.ones(1000))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.OverwrittenError

    Make a new array in each step:

    >>> def loss(x):
    ...     weights, total = np.ones(1000), 0.0
    ...     for _ in range(3):
    ...         total = total + np.sum(np.sin(x * weights))
    ...         weights = weights * 2
    ...     return total
    >>> print(np.round(fg.grad(loss)(np.ones(1000))[:2], 4))
    [-2.9066 -2.9066]
    """


class TracerAssignmentError(TypeError):
    """What is traced was to be written to where the write could not be seen.

    A function writes into its own arrays as NumPy's programs do. Into those of a function around it, which a transform
    runs, it may not: the write would be part of neither.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def loss(x):
    ...     slopes = np.zeros_like(x)
    ...     def height(t):
    ...         slopes[0] = t
    ...         return t * t
    ...     return np.sum(slopes) + fg.grad(height)(x[1])
    >>> fg.grad(loss)(np.array([1.0, 2.0]))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TracerAssignmentError

    Return the value, and write it where the array was made:

    >>> def loss(x):
    ...     slopes = np.zeros_like(x)
    ...     slopes[0] = fg.grad(lambda t: t * t)(x[1])
    ...     return np.sum(slopes)
    >>> print(fg.grad(loss)(np.array([1.0, 2.0])))
    [0. 2.]
    """


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


class HyperparameterError(ValueError):
    """An optimizer was given a hyperparameter outside its range; NaN is outside every range.

    >>> import funcgrad as fg
    >>> fg.sgd_init({"weight": 1.0}, lr=-0.1)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.HyperparameterError

    Learning rates are zero or positive; to go uphill, turn the direction around:

    >>> state = fg.sgd_init({"weight": 1.0}, lr=0.1, maximize=True)
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


__dir__ = publish(__name__)
