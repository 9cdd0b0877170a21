"""Random numbers of tensors: PyTorch's generator, whose streams are PyTorch's on a CPU where its sources define them.

The engine is the Mersenne Twister. ``uniform``, ``normal``, ``integers`` and ``permutation`` draw as PyTorch's kernels
do, so a seed gives PyTorch's numbers. For the other distributions PyTorch may call MKL, whose stream is not public.

Source: ``aten/src/ATen/core/DistributionsHelper.h``, ``aten/src/ATen/native/cpu/DistributionTemplates.h`` and
``randperm_cpu`` in ``aten/src/ATen/native/TensorFactories.cpp``.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import shown
from funcgrad._types import ArrayLike, DeviceLike, DTypeLike

_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)
# The significant bits of each dtype, from the 32 bits or the 64 bits of a draw. Shorter dtypes are rounded float32.
_DIGITS = {_SINGLE: 24, _DOUBLE: 53}
_BLOCK = 16
_Shape = tuple[int, ...]
# The reason why random numbers are refused here, if they are.
refused_draws: ContextVar[str | None] = ContextVar("funcgrad_refused_draws", default=None)


class DrawnRows(NamedTuple):
    """The rows of one `vmap` whose random numbers differ: the number of the present row, traced, and their count."""

    number: Any
    length: int


# The rows of the maps that run, from the outermost on.
rows: ContextVar[tuple[DrawnRows, ...]] = ContextVar("funcgrad_random_rows", default=())


def drawn_by_rows(draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...]) -> Any:
    """Draw the numbers of all rows at once, as PyTorch does, and return those of the present row."""
    mapped = rows.get()
    token = refused_draws.set(None)
    try:
        made = draw((*[each.length for each in mapped], *shape))
    finally:
        refused_draws.reset(token)
    for each in mapped:
        made = fnp.take(made, each.number, axis=0)
    return made


class Generator:
    """A source of random numbers, with PyTorch's methods.

    Args:
        device: ``"cpu"``, the only device of random numbers.

    Example:
        >>> import funcgrad.torch as torch
        >>> g = torch.Generator().manual_seed(0)
        >>> torch.rand(2, generator=g)
        tensor([0.4963, 0.7682])
    """

    def __init__(self, device: DeviceLike = "cpu") -> None:
        if str(device).partition(":")[0] != "cpu":
            raise RuntimeError(
                f"Generator: the device {shown(str(device))} was asked for; needed 'cpu', where random numbers are "
                "drawn. Draw there and move the array."
            )
        self.device = "cpu"
        # As in PyTorch, a new generator has this seed.
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Self:
        """Start the stream of a seed, and return the generator."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise TypeError(f"manual_seed: the seed is {shown(seed)}; needed an integer. Pass one, such as 0.")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: the seed {seed} has more than 64 bits")
        # A negative seed counts from 2**64, as in PyTorch.
        self._seed = int(seed) % 2**64
        self._twister = np.random.MT19937()
        self._twister._legacy_seeding(self._seed % 2**32)  # noqa: SLF001  (NumPy offers PyTorch's seeding nowhere else)
        # The second of two normal numbers, for the next draw.
        self._kept: float | None = None
        return self

    def initial_seed(self) -> int:
        """Return the seed of the stream."""
        return self._seed

    def seed(self) -> int:
        """Start the stream of a seed from the operating system, and return the seed."""
        self.manual_seed(secrets.randbits(63))
        return self._seed

    def get_state(self) -> np.ndarray:
        """Return the state of the stream as bytes, for `set_state`."""
        inner = self._twister.state["state"]
        kept = np.array([self._kept is not None, self._kept or 0.0])
        parts = [np.array([self._seed], np.uint64), np.asarray(inner["key"], np.uint32), np.array([inner["pos"]]), kept]
        return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts])

    def set_state(self, new_state: Any) -> Self:
        """Continue a stream from a state, and return the generator."""
        data = np.ascontiguousarray(np.asarray(new_state), np.uint8)
        if data.size != 8 + 4 * 624 + 8 + 16:
            raise RuntimeError("RNG state is wrong size")
        ends = [8, 8 + 4 * 624, 16 + 4 * 624]
        seed, key, position, kept = [part.copy() for part in np.split(data, ends)]
        self._seed = int(seed.view(np.uint64)[0])
        inner = {"key": key.view(np.uint32), "pos": int(position.view(np.int64)[0])}
        restored: Any = {"bit_generator": "MT19937", "state": inner}
        self._twister.state = restored
        flag, number = kept.view(np.float64).tolist()
        self._kept = number if flag else None
        return self

    def words(self, count: int) -> np.ndarray:
        """Return random integers of 32 bits."""
        if (refusal := refused_draws.get()) is not None:
            raise RuntimeError(refusal)
        return self._twister.random_raw(count) & 0xFFFFFFFF

    def long_words(self, count: int) -> np.ndarray:
        """Return random integers of 64 bits."""
        pairs = self.words(2 * count).astype(np.uint64)
        return (pairs[::2] << np.uint64(32)) | pairs[1::2]

    def random(self, size: _Shape = (), dtype: DTypeLike = _DOUBLE) -> np.ndarray:
        """Return uniform numbers in [0, 1)."""
        wide, count = _DOUBLE if dtype == _DOUBLE else _SINGLE, math.prod(size)
        found = self.long_words(count) if wide == _DOUBLE else self.words(count)
        bits = found & np.uint64(2 ** _DIGITS[wide] - 1)
        return (bits.astype(wide) * wide.type(2.0 ** -_DIGITS[wide])).astype(dtype).reshape(size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: _Shape = (), dtype: DTypeLike = _DOUBLE) -> np.ndarray:
        """Return uniform numbers between two bounds."""
        kind = np.dtype(dtype).type
        return np.asarray(self.random(size, dtype) * kind(high - low) + kind(low))

    def standard_normal(self, size: _Shape = (), dtype: DTypeLike = _DOUBLE) -> np.ndarray:
        """Return normally distributed numbers."""
        return self.normal(0.0, 1.0, size, dtype)

    def normal(self, mean: float = 0.0, std: float = 1.0, size: _Shape = (), dtype: DTypeLike = _DOUBLE) -> np.ndarray:
        """Return normally distributed numbers with a mean and a standard deviation.

        PyTorch draws fewer than 16 numbers in another way than more.
        """
        dtype, count = np.dtype(dtype), math.prod(size)
        if count < _BLOCK:
            return np.array([self.next_normal() * std + mean for _ in range(count)], dtype).reshape(size)
        wide = _DOUBLE if dtype == _DOUBLE else _SINGLE
        found = self.random((count,), wide)
        whole = count - count % _BLOCK
        found[:whole] = _normal_blocks(found[:whole])
        if whole < count:
            found[-_BLOCK:] = _normal_blocks(self.random((_BLOCK,), wide))
        return (found * wide.type(std) + wide.type(mean)).astype(dtype).reshape(size)

    def next_normal(self) -> float:
        """Return one normally distributed number; numbers come in pairs, and the second one is kept."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        angle, length = self.random((2,)).tolist()
        radius = math.sqrt(-2.0 * math.log1p(-length))
        self._kept = radius * math.sin(2.0 * math.pi * angle)
        return radius * math.cos(2.0 * math.pi * angle)

    def integers(self, low: int, high: int, size: _Shape = (), dtype: DTypeLike = np.int64) -> np.ndarray:
        """Return integers from ``low`` to ``high - 1``."""
        room, count = high - low, math.prod(size)
        found = self.long_words(count) if room >= 2**32 else self.words(count).astype(np.uint64)
        return ((found % np.uint64(room)).astype(np.int64).reshape(size) + low).astype(dtype)

    def permutation(self, n: int) -> np.ndarray:
        """Return the integers below n in random order."""
        order = np.arange(n)
        # The last draw exchanges an element with itself.
        steps = self.words(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint64)
        for i, step in enumerate(steps.tolist()):
            order[i], order[i + step] = order[i + step], order[i]
        return order

    def binomial(self, count: Any, p: ArrayLike, size: _Shape = ()) -> np.ndarray:
        """Return how many of some trials succeed, each with a probability."""
        trials = np.broadcast_to(count, size)
        most = int(np.max(trials, initial=0))
        if most == 1 and np.all(trials == 1):
            # PyTorch compares numbers of the digits of the probabilities.
            digits = np.float32 if getattr(p, "dtype", None) == np.float32 else np.float64
            return (self.random(size, digits) < p).astype(np.int64)
        hits = self.random((most, *size)) < p
        return np.sum(hits & (np.arange(most).reshape(-1, *(1,) * len(size)) < trials), axis=0)

    def exponential(self, scale: float = 1.0, size: _Shape = ()) -> np.ndarray:
        """Return exponentially distributed numbers."""
        return -scale * np.log1p(-self.random(size))

    def lognormal(self, mean: float, std: float, size: _Shape = ()) -> np.ndarray:
        """Return numbers whose logarithm is normally distributed."""
        return np.exp(self.normal(mean, std, size))

    def geometric(self, p: float, size: _Shape = ()) -> np.ndarray:
        """Return the number of trials until the first success."""
        return np.ceil(np.log1p(-self.random(size)) / math.log1p(-p))

    def standard_cauchy(self, size: _Shape = ()) -> np.ndarray:
        """Return numbers of the Cauchy distribution."""
        return np.tan(np.pi * (self.random(size) - 0.5))

    def __reduce__(self) -> Any:
        return _restored, (self.get_state(),)


def _restored(state: np.ndarray) -> Generator:
    return Generator().set_state(state)


def _normal_blocks(uniform: np.ndarray) -> np.ndarray:
    """Return normal numbers of uniform ones by the transform of Box and Muller, in blocks of 16."""
    blocks = uniform.reshape(-1, 2, _BLOCK // 2)
    radius = np.sqrt(-2.0 * np.log(1.0 - blocks[:, 0]))
    angle = uniform.dtype.type(2.0 * np.pi) * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


default_generator = Generator()
default_generator.seed()
