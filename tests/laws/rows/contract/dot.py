"""Rows for ``funcgrad._ops.contract.dot``."""

from funcgrad._ops.contract.dot import dot_general_p, matmul_p
from tests.laws.rows._row import Row


def contraction(a: tuple, b: tuple, contract: tuple, batch: tuple, name: str) -> Row:
    return Row(dot_general_p, (a, b), {"contract": contract, "batch": batch}, complex=True, name=name)


NO_BATCH = ((), ())

ROWS = [
    Row(matmul_p, ((2, 3), (3, 4)), complex=True),
    Row(matmul_p, ((2, 3), (3,)), complex=True, name="matrix-vector"),
    Row(matmul_p, ((3,), (3, 4)), complex=True, name="vector-matrix"),
    Row(matmul_p, ((3,), (3,)), complex=True, name="vectors"),
    Row(matmul_p, ((2, 2, 3, 4), (2, 2, 4, 2)), complex=True, name="stacks"),
    Row(matmul_p, ((2, 0), (0, 3)), name="nothing-to-sum"),
    Row(matmul_p, ((0, 3), (3, 2)), name="empty"),
    contraction((2, 3), (3, 4), ((1,), (0,)), NO_BATCH, "matrices"),
    contraction((3, 2), (4, 3), ((0,), (1,)), NO_BATCH, "turned"),
    contraction((2, 3, 4), (4, 2), ((2,), (0,)), NO_BATCH, "dense-layer"),
    contraction((2, 3, 4), (2, 3, 5), ((0, 1), (0, 1)), NO_BATCH, "leading-axes"),
    contraction((2, 3, 4), (4, 3, 2), ((0, 2), (2, 0)), NO_BATCH, "crossed-axes"),
    contraction((2, 3, 2, 4), (2, 4, 3, 2), ((3, 1), (1, 2)), ((0,), (3,)), "batch"),
    contraction((4, 3, 2), (4, 2, 2), ((2,), (1,)), ((0,), (0,)), "stacks"),
    contraction((2, 3), (3, 2), ((1,), (0,)), ((0,), (1,)), "pairs-of-vectors"),
    contraction((2, 3), (2,), ((), ()), ((0,), (0,)), "nothing-to-sum"),
    contraction((2,), (3,), ((), ()), NO_BATCH, "outer"),
    contraction((), (3,), ((), ()), NO_BATCH, "scalar"),
    contraction((2, 3), (2, 3), ((0, 1), (0, 1)), NO_BATCH, "inner"),
    contraction((2, 0), (0, 3), ((1,), (0,)), NO_BATCH, "empty"),
]
