"""Convolutions and pools of any sizes are PyTorch's, under every transform; and what does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn
from funcgrad.autograd import tensor


def sizes(rng: np.random.Generator, axes: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(low, high + 1, axes))


def convolution(rng: np.random.Generator) -> tuple[str, list[np.ndarray], dict[str, Any]]:
    axes, groups = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    transposed = bool(rng.integers(2))
    inner, outer = (groups * int(n) for n in rng.integers(1, 4, 2))
    options: dict[str, Any] = {
        "stride": sizes(rng, axes, 1, 3),
        "padding": sizes(rng, axes, 0, 2),
        "dilation": sizes(rng, axes, 1, 2),
        "groups": groups,
    }
    if transposed:
        most = np.maximum(options["stride"], options["dilation"])
        options["output_padding"] = tuple(int(rng.integers(n)) for n in most)
    channels = (inner, outer // groups) if transposed else (outer, inner // groups)
    x = rng.standard_normal((int(rng.integers(1, 4)), inner, *sizes(rng, axes, 5, 8)))
    weight = rng.standard_normal((*channels, *sizes(rng, axes, 1, 3)))
    if rng.integers(2):
        x = np.asfortranarray(x)
    return f"conv{'_transpose' if transposed else ''}{axes}d", [x, weight, rng.standard_normal(outer)], options


def pool(rng: np.random.Generator) -> tuple[str, list[np.ndarray], dict[str, Any]]:
    axes, greatest = int(rng.integers(1, 4)), bool(rng.integers(2))
    kernel = sizes(rng, axes, 1, 3)
    options: dict[str, Any] = {"kernel_size": kernel, "padding": tuple(int(rng.integers(k // 2 + 1)) for k in kernel)}
    options["ceil_mode"] = bool(rng.integers(2))
    if rng.integers(2):
        options["stride"] = sizes(rng, axes, 1, 3)
    if greatest:
        options["dilation"] = sizes(rng, axes, 1, 2)
    else:
        options["count_include_pad"] = bool(rng.integers(2))
    x = np.round(2 * rng.standard_normal((2, 2, *sizes(rng, axes, 5, 8))))
    return f"{'max' if greatest else 'avg'}_pool{axes}d", [x], options


@pytest.mark.parametrize("draw", [convolution, pool])
def test_random_sizes_beside_torch(draw: Any, torch: Any) -> None:
    rng = np.random.default_rng(7)
    compared = 0
    while compared < 50:
        name, arrays, options = draw(rng)
        theirs = [torch.tensor(a.copy(), requires_grad=True) for a in arrays]
        try:
            expected = getattr(torch.nn.functional, name)(*theirs, **options)
        except RuntimeError:
            with pytest.raises(ValueError, match=name):
                getattr(nn, name)(*arrays, **options)
            continue
        y, pullback = fg.vjp(lambda *args, name=name, options=options: getattr(nn, name)(*args, **options), *arrays)
        np.testing.assert_allclose(y, expected.detach().numpy(), rtol=1e-10, atol=1e-12, err_msg=f"{name} {options}")
        y_bar = rng.standard_normal(y.shape)
        expected.backward(torch.tensor(y_bar))
        for found, x in zip(pullback(y_bar), theirs, strict=True):
            np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-10, atol=1e-12, err_msg=f"{name} {options}")
        compared += 1


def test_transforms(rng: np.random.Generator) -> None:
    x, weight = rng.standard_normal((2, 4, 6, 6)), rng.standard_normal((6, 2, 3, 3))

    def loss(x: Any, weight: Any) -> Any:
        y = nn.max_pool2d(nn.conv2d(x, weight, stride=2, padding=1, groups=2), 2)
        return np.sum(nn.avg_pool2d(y, 1) ** 2)

    fg.check_grads(loss, (x, weight), order=2)
    gradient = fg.grad(loss, (0, 1))
    many = np.stack([weight, 2 * weight])
    for engine in ("xla", "numpy"):
        for found, expected in zip(fg.jit(gradient, engine=engine)(x, weight), gradient(x, weight), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10)
    images = np.stack([x, x + 1])
    for in_axes, args in [((None, 0), (x, many)), ((0, 0), (images, many)), ((0, None), (images, weight))]:
        found = fg.vmap(gradient, in_axes)(*args)
        for i in range(2):
            each = [a if axis is None else a[i] for a, axis in zip(args, in_axes, strict=True)]
            for batch, alone in zip(found, gradient(*each), strict=True):
                np.testing.assert_allclose(batch[i], alone, rtol=1e-10, atol=1e-12)


def test_tensors_and_dtypes(rng: np.random.Generator) -> None:
    x, weight = rng.standard_normal((1, 2, 4)), rng.standard_normal((3, 2, 2))
    t = tensor(weight, requires_grad=True)
    nn.conv1d(tensor(x), t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), fg.grad(lambda w: np.sum(nn.conv1d(x, w)))(weight))
    assert nn.conv1d(x.astype(np.float32), weight.astype(np.float32)).dtype == np.float32
    assert nn.conv1d(x.astype(np.float16), weight.astype(np.float16)).dtype == np.float16
    assert nn.conv1d(np.arange(6).reshape(1, 2, 3), np.ones((1, 2, 2), int)).dtype == np.float64
    assert nn.max_pool1d(np.ones((1, 2), np.float32), 2).dtype == np.float32
    assert nn.avg_pool1d(np.ones((1, 2), np.float32), 2, padding=1, count_include_pad=False).dtype == np.float32


IMAGE, KERNEL = np.ones((2, 4, 4)), np.ones((2, 2, 3, 3))


@pytest.mark.parametrize(
    ("name", "args", "options", "text"),
    [
        ("conv2d", (np.ones((4, 4)), KERNEL), {}, "and 2 spatial axes"),
        ("conv2d", (IMAGE, np.ones((2, 3, 3))), {}, "weight is"),
        ("conv2d", (np.ones((3, 4, 4)), KERNEL), {}, "with in of 3"),
        ("conv2d", (IMAGE, KERNEL), {"groups": 3}, "groups=3"),
        ("conv2d", (IMAGE, KERNEL), {"groups": 0}, "groups is 0"),
        ("conv2d", (IMAGE, KERNEL), {"stride": 0}, "stride is 0"),
        ("conv2d", (IMAGE, KERNEL), {"stride": (1, 2, 3)}, "or 2 of them"),
        ("conv2d", (IMAGE, KERNEL), {"padding": -1}, "padding is -1"),
        ("conv2d", (IMAGE, KERNEL), {"padding": "same", "stride": 2}, "with a stride of 1"),
        ("conv2d", (IMAGE, KERNEL), {"dilation": 2}, "at least as long as the kernel"),
        ("conv2d", (IMAGE, KERNEL, np.ones(3)), {}, r"of shape \[2\]"),
        ("conv_transpose2d", (np.ones((3, 4, 4)), KERNEL), {}, "with in of 3"),
        ("max_pool2d", (IMAGE, 2), {"padding": 2}, "at most half"),
        ("max_pool2d", (IMAGE, 5), {}, "spans 5"),
    ],
)
def test_refusals(name: str, args: tuple, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}.*{text}"):
        getattr(nn, name)(*args, **options)
    with pytest.raises(TypeError, match=r"needed real numbers"):
        nn.max_pool1d(np.ones((1, 2), complex), 2)


def test_refusals_in_pytorchs_words() -> None:
    with pytest.raises(RuntimeError, match="output padding must be smaller than either stride or dilation"):
        nn.conv_transpose2d(IMAGE, KERNEL, output_padding=1)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        nn.avg_pool2d(IMAGE, 2, divisor_override=0)
