"""``funcgrad.scipy.fft`` beside SciPy's: values, dtypes, errors, derivatives, and SciPy's own names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.fft

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import fft

theirs: Any = scipy.fft
RNG = np.random.default_rng(0)
VECTOR, BOX = RNG.normal(size=7), RNG.normal(size=(4, 3, 5))
PAIRS = RNG.normal(size=(4, 5)) + 1j * RNG.normal(size=(4, 5))
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = tuple(f"{name}{end}" for name in ONE for end in ("2", "n"))
REAL = ("dct", "idct", "dst", "idst")
OF_REAL = ("rfft", "ihfft")


def agrees(name: str, x: Any, *args: Any, **options: Any) -> None:
    """Compare a traced call, eager and staged, with SciPy's plain one."""
    ours = getattr(fft, name)
    expected = getattr(theirs, name)(x, *args, **options)
    by_grad = fg.value_and_grad(lambda x: (np.sum(x.real), ours(x, *args, **options)), has_aux=True)(x)[0][1]
    scale = np.max(np.abs(expected), initial=1.0)
    for value in (by_grad, fg.jit(lambda x: ours(x, *args, **options), engine="numpy")(x)):
        assert value.dtype == expected.dtype
        assert value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=0, atol=scale * 40 * np.finfo(expected.dtype).eps)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_along_one_axis(name: str, norm: str | None) -> None:
    x = BOX if name in OF_REAL else PAIRS
    agrees(name, x, norm=norm)
    agrees(name, x, 6, 0, norm)
    agrees(name, x.astype(np.float32) if name in OF_REAL else x.astype(np.complex64), norm=norm)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", MANY)
def test_along_several_axes(name: str, norm: str | None) -> None:
    x = BOX if name.startswith(OF_REAL) else PAIRS
    agrees(name, x, norm=norm)
    agrees(name, x, (6, 3), (0, 1), norm)
    agrees(name, x, axes=1, s=4, norm=norm)


@pytest.mark.parametrize(("name", "kind"), [*itertools.product(REAL, (1, 2, 3, 4))])
def test_cosines_and_sines(name: str, kind: int) -> None:
    for norm, orthogonalize in itertools.product((None, "ortho", "forward"), (None, True, False)):
        agrees(name, VECTOR, kind, norm=norm, orthogonalize=orthogonalize)
        agrees(f"{name}n", BOX, kind, (4, 4), (2, 0), norm, orthogonalize=orthogonalize)
    agrees(name, BOX, kind, 6, 1)
    agrees(name, BOX, kind, 2, 0)
    agrees(name, PAIRS, kind, norm="ortho")
    agrees(name, VECTOR.astype(np.float32), kind)
    agrees(name, np.arange(2.0), kind)
    inverse = name[1:] if name.startswith("i") else f"i{name}"
    there_and_back = getattr(fft, inverse)(getattr(fft, name)(VECTOR, kind), kind)
    np.testing.assert_allclose(there_and_back, VECTOR, rtol=1e-13)


@pytest.mark.parametrize("name", [*ONE, *MANY, *REAL, *(f"{name}n" for name in REAL)])
def test_derivatives(name: str) -> None:
    x = BOX[..., :3] if name.startswith((*OF_REAL, *REAL)) else PAIRS
    fg.check_grads(lambda x: np.sum(np.abs(getattr(fft, name)(x)) ** 2), (x,), order=2)


def test_scipys_own_names() -> None:
    weights = np.arange(7.0)
    for name in ("fft", "rfft", "dct", "idst", "fftn", "fftshift"):
        expected = fg.grad(lambda x, name=name: np.sum(np.real(getattr(fft, name)(x))[:3] * weights[:3]))(VECTOR)

        def gradient(name: str = name) -> Any:
            return fg.grad(lambda x: np.sum(np.real(getattr(scipy.fft, name)(x))[:3] * weights[:3]))(VECTOR)

        with fg.intercept():
            np.testing.assert_array_equal(gradient(), expected)
        with scipy.fft.set_backend(fft):
            np.testing.assert_array_equal(gradient(), expected)
            np.testing.assert_array_equal(getattr(scipy.fft, name)(VECTOR), getattr(scipy.fft, name)(VECTOR))
        if name != "fftshift":
            with pytest.raises(
                UnsupportedFunctionError, match=rf"^scipy\.fft\.{name} met .* Call fg\.scipy\.fft\.{name} "
            ):
                gradient()


def test_what_is_not_here() -> None:
    with pytest.raises(UnsupportedFunctionError, match=r"^scipy\.fft\.fht met a traced value.*There is no derivative"):
        fg.grad(lambda x: np.sum(theirs.fht(x, 0.1, 0.5)))(VECTOR)
    with pytest.raises(AttributeError, match=r"scipy\.fft\.fht has no derivative here"):
        fft.fht  # noqa: B018  (what is refused)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("fft", (0,), {}),
        ("fft", (), {"axis": 3}),
        ("fft", (), {"norm": "sideways"}),
        ("fft", (), {"plan": 1}),
        ("fftn", ((2, 2),), {}),
        ("fftn", ((2, 2), (0,)), {}),
        ("fftn", (), {"axes": (0, 0)}),
        ("fft2", (), {}),
        ("dct", (5,), {}),
        ("dct", (2, 0), {}),
        ("dct", (1, 1), {}),
        ("dctn", (2, (2, 2)), {}),
        ("dctn", (2, None, (0, 0)), {}),
    ],
)
def test_what_scipy_refuses(name: str, args: tuple, options: dict[str, Any]) -> None:
    errors = (ValueError, IndexError, NotImplementedError, RuntimeError)
    with pytest.raises(errors) as info:
        getattr(scipy.fft, name)(VECTOR, *args, **options)
    with pytest.raises(type(info.value)):
        fg.grad(lambda x: np.sum(np.real(getattr(fft, name)(x, *args, **options))))(VECTOR)
