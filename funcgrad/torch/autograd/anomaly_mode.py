"""``torch.autograd.anomaly_mode``: backward passes that name the operation whose gradient becomes NaN."""

import warnings as _warnings
from collections.abc import Sequence as _Sequence
from typing import Any as _Any

from funcgrad._core.trace.checked import Checks as _Checks
from funcgrad._core.trace.checked import checks as _checks
from funcgrad._public import publish as _publish
from funcgrad._transforms.debug import checking as _checking
from funcgrad.autograd.extend import NodeFunction as _NodeFunction


class _Anomalies(_Checks):
    """Checks of passes back alone: as in PyTorch, a NaN of the forward pass is no error."""

    def __init__(self) -> None:
        super().__init__(False, lambda *_: None)

    def look(self, *args: _Any, **options: _Any) -> None:
        """Look at no result of the forward pass; its line is remembered."""

    def pull_error(self, node: _Any, number: int, value: _Any, read: _Sequence[_Any]) -> Exception:
        """Return PyTorch's error, with the line of the forward pass."""
        del value, read
        name, line = _NodeFunction(node).name(), self.lines.get(node[0])
        error = RuntimeError(f"Function '{name}' returned nan values in its {number}th output.")
        if line is not None:
            error.add_note(f"The forward call that caused the error was at {line}: {line.text}")
        return error


class set_detect_anomaly:  # noqa: N801  (PyTorch's name)
    """Turn anomaly detection on or off, from the call on or for a block.

    Args:
        mode: whether it is on.
        check_nan: whether a NaN in a gradient is an error.

    Example:
        >>> import warnings
        >>> import funcgrad.torch as torch
        >>> x = torch.tensor([0.0], requires_grad=True)
        >>> with warnings.catch_warnings(action="ignore"), torch.autograd.set_detect_anomaly(True):
        ...     try:
        ...         (x.sqrt() * 0).sum().backward()
        ...     except RuntimeError as error:
        ...         print(error)
        Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._context: _Any = _checking(_Anomalies() if mode and check_nan else _Quiet())
        self._context.__enter__()

    def __enter__(self) -> None:
        """Do nothing: the checks began when the object was made."""

    def __exit__(self, *args: object) -> None:
        self._context.__exit__(*args)


class _Quiet(_Anomalies):
    """No checks at all."""

    def is_bad(self, x: _Any) -> bool:
        """Find nothing."""
        del x
        return False


class detect_anomaly:  # noqa: N801  (PyTorch's name)
    """A block whose backward passes raise an error that names the operation whose gradient becomes NaN.

    Args:
        check_nan: whether a NaN in a gradient is an error.

    Raises:
        RuntimeError: raised by ``backward`` inside the block.

    Example:
        >>> import warnings
        >>> import funcgrad.torch as torch
        >>> x = torch.tensor([0.0], requires_grad=True)
        >>> with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
        ...     try:
        ...         (x.sqrt() * 0).sum().backward()
        ...     except RuntimeError as error:
        ...         print(error)
        Function 'SqrtBackward0' returned nan values in its 0th output.

    Source: ``torch.autograd.detect_anomaly``. `funcgrad.debug_nans` also finds what the forward pass makes.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        _warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._context: _Any = _checking(_Anomalies() if self._check_nan else _Quiet())
        self._context.__enter__()

    def __exit__(self, *args: object) -> None:
        self._context.__exit__(*args)


def is_anomaly_enabled() -> bool:
    """``torch.is_anomaly_enabled``: return whether anomaly detection is on."""
    return isinstance(_checks.get(), _Anomalies)


def is_anomaly_check_nan_enabled() -> bool:
    """``torch.is_anomaly_check_nan_enabled``: return whether a NaN in a gradient is an error."""
    return not isinstance(_checks.get(), _Quiet)


__dir__ = _publish(__name__)
