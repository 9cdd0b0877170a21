"""Mistakes with traced values: converted to plain values, used in a branch, overwritten, or used too late."""

from __future__ import annotations


class ConcretizationTypeError(TypeError):
    """A traced value was converted to an ordinary Python or NumPy value.

    A tracer represents an array while a transform runs. `float(x)`, `int(x)`, `x.item()` and `math.sin(x)` would return
    a plain number, and the derivative would be silently lost. So they raise:

    >>> import math
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: math.sin(x) * x)(2.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.ConcretizationTypeError

    A NumPy function keeps the derivative:

    >>> print(round(float(fg.grad(lambda x: np.sin(x) * x)(2.0)), 4))
    0.077

    To use the number as a constant, write `stop_gradient`:

    >>> def scaled(x):
    ...     constant = float(fg.stop_gradient(x))
    ...     return constant * x
    >>> print(float(fg.grad(scaled)(2.0)))
    2.0

    Under `jit` a tracer has no number. Make the argument static with `static_argnums`, or keep it an array.
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A branch (`if`, `while`, `and`, `not`) depends on a traced value that has no value yet.

    Under `jit` a function runs once, on shapes and dtypes only, and the program must not depend on the numbers:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.jit
    ... def relu(x):
    ...     return x if x > 0 else 0.0 * x
    >>> relu(3.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TracerBoolConversionError

    Compute both branches and select; or make the argument static with `static_argnums`:

    >>> @fg.jit
    ... def relu(x):
    ...     return np.where(x > 0, x, 0.0 * x)
    >>> print(float(relu(3.0)))
    3.0

    `grad` and `jvp` of NumPy values run eagerly. The value is known there, so a branch may depend on it.
    """


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced array was passed to code that needs a plain `numpy.ndarray`.

    NumPy calls no method of a tracer in `np.asarray(x)`. Small tracers become object arrays of 0-d tracers, which keep
    the derivative (see `ObjectArrayWarning`). Above 4,096 elements the conversion raises:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def energy(x):
    ...     return np.sum(np.asarray(x) ** 2)
    >>> fg.grad(energy)(np.ones(5000))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    funcgrad.errors.TracerArrayConversionError

    Remove the conversion, or use `funcgrad.numpy`, which accepts tracers:

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
    """An array was indexed by a traced mask, so the shape of the result would depend on the numbers.

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

    A variable outside the function keeps an intermediate value:

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


class TracerAssignmentError(TypeError):
    """A traced value was assigned to an element of an array that the transform cannot observe.

    A function may write into the arrays that it makes. It may not write into an array that was made outside the
    transformed function, because neither the derivative nor the compiled program would contain the write.

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

    Return the value, and assign it in the function that made the array:

    >>> def loss(x):
    ...     slopes = np.zeros_like(x)
    ...     slopes[0] = fg.grad(lambda t: t * t)(x[1])
    ...     return np.sum(slopes)
    >>> print(fg.grad(loss)(np.array([1.0, 2.0])))
    [0. 2.]
    """
