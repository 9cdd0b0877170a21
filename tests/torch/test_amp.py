"""`torch.amp`: scaled losses, and contexts that are off."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import funcgrad.torch
from tests._recorded import PyTorch


def scaled(torch: Any) -> list[Any]:
    """Return what a scaler does over steps with finite and with infinite gradients, and its refusals."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    found: list[Any] = [scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()]
    for factor in (1.0, 1.0, float("inf"), 2.0):
        optimizer.zero_grad()
        scaler.scale((factor * w**2).sum()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_([w], 100.0, error_if_nonfinite=False)
        scaler.step(optimizer)
        scaler.update()
        found += [w.tolist(), scaler.get_scale(), scaler.state_dict()["_growth_tracker"]]
    again = torch.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    found.append(again.get_scale())
    for wrong in (lambda: [scaler.unscale_(optimizer), scaler.unscale_(optimizer)], scaler.update, scaler.update):
        try:
            wrong()
        except Exception as error:  # noqa: BLE001  (the class is compared)
            found.append([type(error).__name__, str(error)])
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_scaler(pytorch: PyTorch) -> None:
    ours, theirs = scaled(funcgrad.torch), pytorch(scaled)
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine == (pytest.approx(expected, rel=1e-6) if isinstance(expected, float) else expected) or (
            mine == pytest.approx(expected, rel=1e-6)
        )


def absent(torch: Any) -> list[Any]:
    """Return the warnings of what needs a GPU, and that it is off."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scalers = [torch.amp.GradScaler(), torch.cuda.amp.GradScaler(), torch.cuda.amp.GradScaler(enabled=False)]
        with torch.autocast("cuda"), torch.cuda.amp.autocast(enabled=False):
            y = torch.ones(2) * 2
    x = torch.ones(1)
    found = [[scaler.is_enabled(), scaler.get_scale(), scaler.scale(x) is x] for scaler in scalers]
    return [*found, y.tolist(), [[each.category.__name__, str(each.message)] for each in seen]]


def test_without_a_gpu(pytorch: PyTorch) -> None:
    assert absent(funcgrad.torch) == pytorch(absent)


def test_narrow_dtypes_are_not_chosen() -> None:
    with pytest.raises(NotImplementedError, match=r"Convert modules and tensors with \.bfloat16\(\)"):
        funcgrad.torch.autocast("cpu", dtype=funcgrad.torch.bfloat16)
    assert funcgrad.torch.autocast("cpu", enabled=False)(len) is len


def test_deprecated_names_warn(pytorch: PyTorch) -> None:
    def texts(torch: Any) -> list[str]:
        p = torch.nn.Parameter(torch.zeros(2, 2))
        p.grad = torch.ones(2, 2)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.nn.init.kaiming_normal(p)
            torch.nn.utils.clip_grad_norm([p], 1.0)
        return [str(each.message) for each in seen if each.category is FutureWarning]

    assert texts(funcgrad.torch) == pytorch(texts)
