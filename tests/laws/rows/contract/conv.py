"""Rows for ``funcgrad._ops.contract.conv``."""

from funcgrad._ops.contract.conv import Window, conv_p
from tests.laws.rows._row import Row


def moved(
    strides: tuple, padding: tuple, spread: tuple | None = None, dilation: tuple | None = None, groups: int = 1
) -> dict:
    ones = (1,) * len(strides)
    return {"window": Window(strides, padding, spread or ones, dilation or ones, groups)}


ROWS = [
    Row(conv_p, ((2, 3, 5), (2, 3, 2)), moved((1,), ((0, 0),)), complex=True),
    Row(conv_p, ((2, 1, 5, 4), (1, 1, 3, 2)), moved((2, 1), ((1, 0), (0, 2))), name="strides"),
    Row(conv_p, ((1, 4, 4, 3), (2, 2, 2, 2)), moved((1, 1), ((1, 1), (1, 1)), (2, 1), (1, 2), 2), name="groups"),
    Row(conv_p, ((1, 3, 4), (3, 1, 2)), moved((2,), ((0, 1),), (3,), (2,), 3), name="depthwise"),
    Row(conv_p, ((1, 4, 5), (1, 4, 3)), moved((1,), ((-1, 2),)), name="cut"),
    Row(conv_p, ((1, 2, 2, 3, 2), (1, 2, 1, 2, 2)), moved((1, 1, 1), ((0, 0), (0, 0), (0, 0))), name="solid"),
    Row(conv_p, ((0, 2, 3), (2, 2, 2)), moved((1,), ((0, 0),)), name="empty"),
]
