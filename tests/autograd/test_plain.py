"""Tensors as plain numbers and arrays: refused while they are recorded, allowed if no derivative is lost."""

import array
import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from funcgrad.autograd import no_grad, tensor
from funcgrad.optim import SGD, lr_scheduler


def first_set(t: Any) -> Any:
    out = np.zeros(2)
    out[0] = t
    return out[0]


def added_to(t: Any) -> Any:
    out = np.zeros(2)
    out[1] += t
    return out[1]


def filled(t: Any) -> Any:
    out = np.zeros(2)
    out.fill(t)
    return out[0]


def set_in_a_list(t: Any) -> Any:
    out = np.zeros(2)
    out[:] = [t, t]
    return out[1]


def set_in_integers(t: Any) -> Any:
    out = np.zeros(2, int)
    out[0] = t
    return out[0]


def set_in_complex(t: Any) -> Any:
    out = np.zeros(2, complex)
    out[0] = t
    return out[0]


def stored_in_pythons_array(t: Any) -> Any:
    numbers = array.array("d", [0.0])
    numbers[0] = t
    return numbers[0]


TO_PLAIN: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "numpy()": lambda t: t.numpy(),
    "np.asarray": np.asarray,
    "np.array of a list": lambda t: np.array([t])[0],
    "np.float64": np.float64,
    "out[0] = t": first_set,
    "out[1] += t": added_to,
    "out.fill(t)": filled,
    "out[:] = [t, t]": set_in_a_list,
    "integers[0] = t": set_in_integers,
    "complex[0] = t": set_in_complex,
    "array.array": stored_in_pythons_array,
    "ctypes": lambda t: ctypes.c_double(t).value,
    "math.sqrt": lambda t: math.sqrt(t) ** 2,
    "integrand of quad": lambda t: integrate.quad(lambda _: t, 0, 1)[0],
}


def reasons(error: BaseException) -> str:
    """Return the texts of an error and of its causes: NumPy raises its own error ``from`` ours."""
    return f"{error} {reasons(error.__cause__) if error.__cause__ else ''}"


@pytest.mark.parametrize("name", TO_PLAIN)
def test_a_recorded_tensor_is_refused(name: str) -> None:
    w = tensor([3.0, 4.0], requires_grad=True)
    for t in (w[0], w[0] ** 2, (w * 2).sum().reshape(()), tensor(9.0, requires_grad=True)):
        with pytest.raises((RuntimeError, ValueError)) as refused:
            TO_PLAIN[name](t)
        assert "requires grad" in reasons(refused.value)


@pytest.mark.parametrize("name", TO_PLAIN)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_recorded_goes_in(name: str, dtype: type) -> None:
    w = tensor(np.array([3.0, 4.0], dtype), requires_grad=True)
    tests: list[Any] = [(w[0] ** 2).detach(), tensor(np.array(9.0, dtype))]
    for t in tests:
        assert TO_PLAIN[name](t) == pytest.approx(9.0)
    with no_grad():
        for t in (w[0] ** 2, tensor(np.array(9.0, dtype), requires_grad=True)):
            assert TO_PLAIN[name](t) == pytest.approx(9.0)


def test_the_refusal_says_what_to_write() -> None:
    t = tensor(2.0, requires_grad=True)
    remedy = r"To keep the derivative, .*torch\.zeros\(n\).*; for the number alone use tensor\.item\(\) or "
    with pytest.raises(
        RuntimeError,
        match=r"^float\(\) was asked of a tensor f32\[\] that requires grad, .* " + remedy + r"tensor\.detach\(\)\.$",
    ):
        float(t)
    with pytest.raises(
        RuntimeError, match=r"Use tensor\.detach\(\)\.numpy\(\) instead\. A tensor f32\[\] was to become"
    ):
        np.asarray(t)
    total: Any = tensor(np.zeros(2))
    total[0] = t**2
    total.sum().backward()
    assert t.grad.item() == 4


def test_numbers_to_look_at_are_given() -> None:
    t: Any = tensor(2.5, requires_grad=True)
    assert (t.item(), t.tolist(), bool(t > 0), 1 if t > 3 else 0) == (2.5, 2.5, True, 0)
    assert (f"{t:.2f}", f"{t}", f"{tensor([1.0])}", repr(t)) == (
        "2.50",
        "2.5",
        "tensor([1.])",
        "tensor(2.5000, requires_grad=True)",
    )
    assert [10, 20, 30][tensor([2.0, 1.0], requires_grad=True).argmax()] == 10
    assert t.numpy(force=True) == 2.5
    both: list[Any] = [t, t * -1]
    assert [x.item() for x in sorted(both)] == [-2.5, 2.5]


def test_other_libraries_share_the_memory_of_a_tensor() -> None:
    t = tensor(np.array([1.0, 2.0]))
    shared = np.from_dlpack(t)
    assert np.shares_memory(shared, t.numpy())
    for refused in (tensor([1.0], requires_grad=True), tensor([1.0], requires_grad=True) * 2):
        with pytest.raises(BufferError, match=r"^Can't export tensors that require gradient, use tensor\.detach\(\)$"):
            np.from_dlpack(refused)
        with no_grad(), pytest.raises(BufferError, match="Can't export tensors that require gradient"):
            np.from_dlpack(refused)
        assert np.from_dlpack(refused.detach()) == refused.item()


def test_torch_takes_tensors_by_dlpack(torch: Any) -> None:
    t = tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    theirs = torch.from_dlpack(t.T)
    theirs[0, 1] = 7.0
    assert t.tolist() == [[1.0, 2.0], [7.0, 4.0]]
    assert torch.as_tensor(t).tolist() == t.tolist()


def test_a_loss_that_is_recorded_steps_a_plateau() -> None:
    p = tensor([1.0], requires_grad=True)
    scheduler = lr_scheduler.ReduceLROnPlateau(SGD([p], lr=1.0), patience=0)
    for _ in range(3):
        scheduler.step((p * p).sum())
    assert scheduler.get_last_lr() == pytest.approx([0.01])
