"""Linear algebra of small matrices, as plain loops over memory. Kernels of loops call these functions.

Each function takes lengths, then arrays, then the arrays that it writes. An array is its elements in a row, the last
axis first: a pointer in a kernel, a flat NumPy array in tests. The numbers equal LAPACK's up to rounding. A function
returns true if its matrix is singular or not positive definite; the kernel then ends, and the NumPy engine's operation
runs instead and raises.
"""

from __future__ import annotations

import math

import numpy as np

from funcgrad._types import Value

# For larger matrices LAPACK's vector instructions save more than its call costs.
LARGEST = 32


def multiply(  # noqa: PLR0917  (kernels call it with lengths, then arrays)
    m: int, k: int, n: int, am: int, ak: int, bk: int, bn: int, a: Value, b: Value, y: Value
) -> None:
    """Write the product of an m by k and a k by n matrix, whose axes have the given strides."""
    for i in range(m):
        for j in range(n):
            total = a[i * am] * b[j * bn]
            for s in range(1, k):
                total += a[i * am + s * ak] * b[s * bk + j * bn]
            y[i * n + j] = total


def eliminate(n: int, x: Value, y: Value, pivots: Value) -> None:
    """Write both triangular factors in one matrix, and the row that each row was exchanged with."""
    for i in range(n * n):
        y[i] = x[i]
    for j in range(n):
        row, largest = j, abs(y[j * n + j])
        for i in range(j + 1, n):
            size = abs(y[i * n + j])
            if size > largest:
                row, largest = i, size
        pivots[j] = np.int32(row)
        if row != j:
            for c in range(n):
                y[j * n + c], y[row * n + c] = y[row * n + c], y[j * n + c]
        pivot = y[j * n + j]
        if pivot != 0:
            for i in range(j + 1, n):
                factor = y[i * n + j] / pivot
                y[i * n + j] = factor
                for c in range(j + 1, n):
                    y[i * n + c] -= factor * y[j * n + c]


def arrange(n: int, pivots: Value, order: Value) -> None:
    """Write the order of rows after each is exchanged with its pivot, one after the other."""
    for i in range(n):
        order[i] = np.int32(i)
    for i in range(n):
        row = pivots[i]
        order[i], order[row] = order[row], order[i]


def permute(n: int, m: int, back: int, x: Value, order: Value, y: Value) -> None:
    """Write the rows in an order, or where they were before it."""
    for i in range(n):
        given = i if back else order[i]
        made = order[i] if back else i
        for j in range(m):
            y[made * m + j] = x[given * m + j]


def substitute(  # noqa: PLR0917  (kernels call it with lengths, then arrays)
    n: int, m: int, ai: int, aj: int, yi: int, yj: int, downward: int, unit: int, a: Value, b: Value, y: Value
) -> bool:
    """Write the solution of ``a y = b`` for a triangle of ``a``, and m right sides.

    The strides of the axes are given: other strides make a transposed system.
    """
    if not unit:
        for i in range(n):
            if a[i * (ai + aj)] == 0:
                return True
    for step in range(n):
        i = step if downward else n - 1 - step
        first = 0 if downward else i + 1
        last = i if downward else n
        for j in range(m):
            rest = b[i * yi + j * yj]
            for s in range(first, last):
                rest -= a[i * ai + s * aj] * y[s * yi + j * yj]
            y[i * yi + j * yj] = rest if unit else rest / a[i * (ai + aj)]
    return False


def halve(n: int, x: Value, y: Value) -> bool:
    """Write the lower triangular factor of a positive definite matrix, whose lower triangle is read."""
    for i in range(n):
        for j in range(i + 1):
            rest = x[i * n + j]
            for s in range(j):
                rest -= y[i * n + s] * y[j * n + s]
            if i > j:
                y[i * n + j] = rest / y[j * n + j]
            elif rest > 0:
                y[i * n + i] = np.sqrt(rest)
            else:
                return True
        for j in range(i + 1, n):
            y[i * n + j] = 0
    return False


def volume(n: int, factors: Value, pivots: Value, sign: Value, logarithm: Value) -> None:
    """Write the sign of the determinant and the logarithm of its size, from an elimination."""
    sign[0] = 1
    logarithm[0] = 0
    for i in range(n):
        pivot = factors[i * n + i]
        if (pivots[i] != i) != (pivot < 0):
            sign[0] = -sign[0]
        if pivot == 0:
            sign[0] = 0
            logarithm[0] = -math.inf
        else:
            logarithm[0] += math.log(abs(pivot))


def determine(n: int, factors: Value, pivots: Value, y: Value) -> None:
    """Write the determinant, from an elimination."""
    y[0] = 1
    for i in range(n):
        y[0] *= factors[i * n + i] if pivots[i] == i else -factors[i * n + i]


def triangle(n: int, m: int, k: int, lower: int, x: Value, y: Value) -> None:
    """Write the elements on one side of diagonal k, and zeros elsewhere."""
    for i in range(n):
        for j in range(m):
            y[i * m + j] = x[i * m + j] if (j - i <= k if lower else j - i >= k) else 0


def accumulate(  # noqa: PLR0917  (kernels call it with lengths, then arrays)
    n: int, m: int, k: int, xn: int, xm: int, xk: int, yn: int, ym: int, yk: int, x: Value, z: Value, y: Value
) -> None:
    """Write ``z + x`` along three axes with the given strides. Those of ``z`` are those of ``y``."""
    for i in range(n):
        for j in range(m):
            for c in range(k):
                place = i * yn + j * ym + c * yk
                y[place] = z[place] + x[i * xn + j * xm + c * xk]


# The functions that kernels call, by name; those that are written into their kernel each time; those that never are.
FUNCTIONS = (
    "multiply", "eliminate", "arrange", "permute", "substitute", "halve", "volume", "determine", "triangle",
    "accumulate",
)  # fmt: skip
INLINED = ("multiply",)
CALLED = ("accumulate",)
