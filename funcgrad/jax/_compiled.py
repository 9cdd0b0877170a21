"""``jax.jit``: the library's `jit` with JAX's arguments, and JAX's functions of devices and settings."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from funcgrad._engines.xla.record import jax_names, xla
from funcgrad._transforms import debug
from funcgrad._transforms import named as names
from funcgrad._transforms.compiled import jit as compiled
from funcgrad._transforms.custom.callback import call_numpy
from funcgrad._types import Array, ArrayLike, DeviceLike
from funcgrad.jax._array import plain, tree_of_arrays
from funcgrad.jax._immutable import immutably
from funcgrad.numpy.extend import numpy_promotion
from funcgrad.tree import leaves
from funcgrad.tree import map as tree_map

_off: ContextVar[bool] = ContextVar("funcgrad_jax_jit_is_off", default=False)

_jitted: WeakSet[Any] = WeakSet()


class JaxJitted:
    """A compiled function, whose results are JAX's arrays. Its other attributes are those of ``fg.jit``'s result."""

    def __init__(self, f: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, f)
        self._function = f
        self._options = options
        self._compiled = compiled.jit(immutably(f), **options)
        _jitted.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program for these types of arguments, and compile it first if it is new."""
        if _off.get():
            return self._function(*args, **kwargs)
        return tree_of_arrays(self._compiled(*args, **kwargs))

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return the program for these arguments, or for types, to inspect it or to ``compile()`` it."""
        return Lowered(self._compiled.lower(*tree_map(plain, args), **tree_map(plain, kwargs)))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._compiled, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return JaxJitted, (self._function, self._options)


class Lowered:
    """A program of a jitted function, not compiled yet. Its other attributes are those of ``jax.stages.Lowered``."""

    def __init__(self, lowered: Any) -> None:
        self._lowered = lowered

    def compile(self, *args: Any, **options: Any) -> Any:
        """Compile the program. The result is called as the function is."""
        with xla.scope():
            return Executable(self._lowered.compile(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lowered, name)


class Executable:
    """A compiled program for arguments of given types. Its other attributes are those of ``jax.stages.Compiled``."""

    def __init__(self, executable: Any) -> None:
        self._executable = executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        with xla.scope():
            results = self._executable(*tree_map(plain, args), **tree_map(plain, kwargs))
        # Outside of JAX's 64-bit mode its operators would cut an array of 64 bits to 32.
        return tree_of_arrays(tree_map(lambda y: np.asarray(y) if y.dtype.itemsize == 8 else y, results))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executable, name)


def jit(
    fun: Callable[..., Any] | None = None, /, *, keep_unused: bool = False, inline: bool = False, **options: Any
) -> Any:
    """``jax.jit``: compile a function of pytrees of arrays, in 64 bits. The options are those of ``fg.jit``."""
    del keep_unused, inline  # they change no result
    asked = {name: value for name, value in options.items() if value is not None}
    return functools.partial(jit, **asked) if fun is None else JaxJitted(fun, asked)


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """``jax.disable_jit``: call jitted functions as they are written, so that their lines can be stepped through."""
    token = _off.set(disable)
    try:
        yield
    finally:
        _off.reset(token)


def ensure_compile_time_eval() -> contextlib.AbstractContextManager[None]:
    """``jax.ensure_compile_time_eval``: a context without effect. Operations on known arrays always run at once."""
    return contextlib.nullcontext()


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """``jax.enable_x64``: a context that changes nothing: 64 bits stay 64 bits here."""
    if not new_val:
        _refuse_narrow()
    return contextlib.nullcontext()


def _refuse_narrow() -> NoReturn:
    raise ValueError(
        "jax_enable_x64: False was asked for, and funcgrad.jax always works as in JAX's 64-bit mode. "
        "Make arrays of float32, which stay float32: jnp.zeros(3, jnp.float32)."
    )


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """``jax.debug_nans``: raise an error at the operation that first gives NaN."""
    return debug.debug_nans(infinities=False) if new_val else contextlib.nullcontext()


def debug_infs(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """``jax.debug_infs``: raise an error at the operation that first gives NaN or an infinity."""
    return debug.debug_nans() if new_val else contextlib.nullcontext()


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """``jax.checking_leaks``: a context without effect. The use of a leaked tracer always raises an error."""
    return contextlib.nullcontext()


def check_tracer_leaks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """``jax.check_tracer_leaks``: a context without effect, as `checking_leaks`."""
    del new_val
    return contextlib.nullcontext()


@contextlib.contextmanager
def log_compiles(new_val: bool = True) -> Iterator[None]:
    """``jax.log_compiles``: the logger ``funcgrad`` reports each compilation, its time, and why it was needed."""
    logger = logging.getLogger("funcgrad")
    before = logger.level
    logger.setLevel(logging.DEBUG if new_val else before)
    try:
        yield
    finally:
        logger.setLevel(before)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """``jax.numpy_dtype_promotion``: with ``"strict"``, refuse operations that widen a float."""
    return numpy_promotion("strict") if new_val == "strict" else contextlib.nullcontext()


def clear_caches() -> None:
    """``jax.clear_caches``: forget the programs of all functions that ``jax.jit`` made here."""
    for jitted in tuple(_jitted):
        jitted.clear_cache()


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """``jax.named_call``: the function with a name for its operations in graphs."""
    return names.named(name or fun.__name__)(fun)


def named_scope(name: str) -> Any:
    """``jax.named_scope``: a context, or a decorator, that names a block of a program."""
    return names.named(name)


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, vmap_method: str | None = None, **kwargs: Any
) -> Array:
    """``jax.pure_callback``: call a pure function of NumPy arrays, also inside compiled programs."""
    del vmap_method  # the function is called for each element of a batch
    return tree_of_arrays(call_numpy(functools.partial(callback, **kwargs), result_shape_dtypes, *args))


def block_until_ready(x: ArrayLike) -> Any:
    """``jax.block_until_ready``: wait until all arrays of a pytree are computed."""
    for leaf in leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: ArrayLike) -> Any:
    """``jax.copy_to_host_async``: begin to copy the arrays of a pytree to the host's memory."""
    for leaf in leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def device_get(x: ArrayLike) -> Any:
    """``jax.device_get``: the arrays of a pytree as NumPy's."""
    return tree_map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "dtype") else leaf, x)


def device_put(x: ArrayLike, device: DeviceLike = None, **options: Any) -> Any:
    """``jax.device_put``: the arrays of a pytree on a device or with a sharding; without one, where they are."""
    if device is None:
        return tree_of_arrays(tree_map(np.asarray, x))
    with xla.scope():
        return jax_names.lookup("device_put")(tree_map(plain, x), device, **options)


def _of_devices(name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        return jax_names.lookup(name)(*args, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``jax.{name}``: JAX's own."
    return call


devices = _of_devices("devices")
local_devices = _of_devices("local_devices")
device_count = _of_devices("device_count")
local_device_count = _of_devices("local_device_count")
default_backend = _of_devices("default_backend")
process_count = _of_devices("process_count")
process_index = _of_devices("process_index")


class Config:
    """``jax.config``: the settings of JAX that have a meaning here."""

    jax_enable_x64 = True
    x64_enabled = True

    def update(self, name: str, value: ArrayLike) -> None:
        """Set one of JAX's settings.

        64-bit mode is always on here. To ask for it sets it in JAX too, for the arrays that other packages make. The
        settings of compilation go to JAX, and others are refused.

        Raises:
            ValueError: the setting cannot have this value here.
        """
        if name == "jax_enable_x64":
            if not value:
                _refuse_narrow()
            jax_names.lookup("config").update(name, True)
        elif name in ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit"):
            if value:
                what = "jax.disable_jit()" if name == "jax_disable_jit" else "fg.debug_nans()"
                raise ValueError(
                    f"{name}: it cannot be set for the whole process here. Write with {what}: around the call."
                )
        else:
            jax_names.lookup("config").update(name, value)


config = Config()
