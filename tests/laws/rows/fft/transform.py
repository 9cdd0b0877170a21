"""Rows for ``funcgrad._ops.fft.transform``."""

from funcgrad._ops.fft.transform import fft_p, irfft_p, mirrored_p, rfft_p
from tests.laws.rows._row import Row


def over(*axes: int, inverse: bool = False, norm: str = "backward") -> dict:
    return {"axes": axes, "inverse": inverse, "norm": norm}


ROWS = [
    Row(fft_p, ((4,),), over(0), complex="only"),
    Row(fft_p, ((2, 5, 3),), over(1, inverse=True), complex="only", name="inverse"),
    Row(fft_p, ((3, 2, 4),), over(2, 0, inverse=True, norm="ortho"), complex="only", name="plane"),
    Row(fft_p, ((2, 3, 1, 2, 3),), over(0, 1, 4, 3, norm="forward"), complex="only", name="many-axes"),
    Row(fft_p, ((0, 3),), over(1), complex="only", name="empty"),
    Row(rfft_p, ((6,),), {"axis": 0, "norm": "backward"}),
    Row(rfft_p, ((2, 5, 3),), {"axis": 1, "norm": "ortho"}, name="odd"),
    Row(rfft_p, ((1, 2),), {"axis": 0, "norm": "forward"}, name="one-point"),
    Row(rfft_p, ((2, 2),), {"axis": 1, "norm": "forward"}, name="two-points"),
    Row(rfft_p, ((0, 3),), {"axis": 1, "norm": "backward"}, name="empty"),
    Row(mirrored_p, ((4,),), {"axis": 0, "n": 6, "weight": 0.5}, complex="only"),
    Row(mirrored_p, ((2, 3, 2),), {"axis": 1, "n": 5, "weight": 2.0}, complex="only", name="odd"),
    Row(mirrored_p, ((2, 0, 1),), {"axis": 2, "n": 1, "weight": 2.0}, complex="only", name="one-point"),
    Row(irfft_p, ((4,),), {"n": 6, "axis": 0, "norm": "backward"}, complex="only"),
    Row(irfft_p, ((2, 3, 2),), {"n": 5, "axis": 1, "norm": "ortho"}, complex="only", name="odd"),
    Row(irfft_p, ((1, 2),), {"n": 1, "axis": 0, "norm": "forward"}, complex="only", name="one-point"),
    Row(irfft_p, ((2, 2),), {"n": 2, "axis": 1, "norm": "forward"}, complex="only", name="two-points"),
    Row(irfft_p, ((0, 2),), {"n": 3, "axis": 1, "norm": "backward"}, complex="only", name="empty"),
]
