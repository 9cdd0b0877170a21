"""Calls of functions with their own derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._transforms.custom.calls import CustomCall


def test_calls_that_return_an_array_and_a_number_differ() -> None:
    copies = [True, True, False, False]

    def f(x: Any) -> Any:
        return np.copy(x) if copies.pop() else x * 1.0

    calls = [CustomCall(f, (np.float64(2.0),), {}, ()) for _ in range(4)]
    for call in calls:
        call.value(call.leaves)
    assert calls[0] == calls[1]
    assert calls[2] == calls[3]
    assert calls[1] != calls[2]
