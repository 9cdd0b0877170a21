"""Mistakes with traced values: taken out of a transform, branched on, written past it, kept too long."""

from __future__ import annotations


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
