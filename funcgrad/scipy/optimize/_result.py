"""SciPy's results for traced problems."""

from __future__ import annotations

from typing import Any

from scipy.optimize import OptimizeResult

# Fields without a derivative, and fields that our formulas compute exactly.
_KEPT = frozenset(
    {
        *("x", "fun", "root", "success", "status", "message", "converged", "flag", "method", "active_mask"),
        *("nfev", "njev", "nhev", "nit", "iterations", "function_calls"),
    }
)


class Solution(OptimizeResult):
    """SciPy's result, without the fields whose derivatives are unknown (``jac``, ``hess_inv``, ...)."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            pass
        raise AttributeError(
            f"scipy.optimize: the result has no {name}; the result of a solution with derivatives has "
            f"{', '.join(self)}. Compute it at x, or solve with plain values, from fg.stop_gradient(x)."
        )


def solution(result: Any, **fields: Any) -> Solution:
    """Return SciPy's result with differentiable fields; only these fields before SciPy has run."""
    kept = {} if result is None else {name: value for name, value in result.items() if name in _KEPT}
    return Solution({**kept, **{name: value for name, value in fields.items() if value is not None}})
