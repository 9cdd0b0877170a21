"""``jit``: stages a function once for each combination of argument types, simplifies the graph, and compiles it.

On XLA the call path is ``jax.jit``'s own (``xla_function.py``); the other engines write the program as source
(``source_function.py``). Both have a form that follows branches (``paths.py``). A jitted function that meets one of our
tracers is one ``call`` primitive.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from funcgrad._core.tracebacks import folded
from funcgrad._engines import engine_named
from funcgrad._engines.engine import Engine
from funcgrad._transforms.base.arguments import StaticArguments, name_of
from funcgrad._transforms.compiled.jitted import Jitted
from funcgrad._transforms.compiled.source_function import SourceFunction
from funcgrad._transforms.compiled.source_paths import SourcePaths
from funcgrad._transforms.compiled.typed import Compiled, Decorator, F
from funcgrad._transforms.compiled.xla_function import XlaFunction
from funcgrad._transforms.compiled.xla_paths import XlaPaths
from funcgrad._types import PyTree

Names = str | Sequence[str]
Numbers = int | Sequence[int]


@overload
def jit(
    f: F,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    donate_argnames: Names = (),
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    engine: str = "xla",
    paths: int = 1,
    roll: bool = True,
) -> Compiled[F]: ...
@overload
def jit(
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    donate_argnames: Names = (),
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    engine: str = "xla",
    paths: int = 1,
    roll: bool = True,
) -> Decorator: ...
@folded
def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    donate_argnames: Names = (),
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    engine: str = "xla",
    paths: int = 1,
    roll: bool = True,
) -> Any:
    """Compile a function of pytrees of arrays, written with NumPy.

    The function runs once for each combination of argument structures, shapes, dtypes and static values, on abstract
    values. Python side effects happen only then, and a branch on a traced value is an error. dtypes are NumPy's:
    float64 stays float64, without a change of JAX's global flag. Arrays that the function closes over are read once,
    when it runs; later writes to them have no effect.

    Args:
        f: the function; without it, ``jit`` returns a decorator.
        static_argnums: positions of arguments that are hashable values rather than arrays; each new value is compiled.
            Two values are the same if their types and values are equal, in all of their parts.
        static_argnames: names of static keyword arguments.
        donate_argnums: positions of arguments whose buffers the result may reuse; they must not be used afterwards.
            With ``engine="numpy"`` and ``"numba"`` the program writes over donated arrays. Other references to such an
            array, or to a view of it, see other numbers in it, also if the call fails halfway.
        donate_argnames: names of such arguments, however they are passed.
        in_shardings: the distribution of the positional arguments that are not static over devices: a sharding of
            JAX's, a ``PartitionSpec`` if a mesh is set (``jax.set_mesh``), or ``None`` for no change; or a prefix of
            the tuple of these arguments with such leaves. On XLA only.
        out_shardings: the same for the result; ``None`` leaves the choice to the compiler. An argument that is returned
            unchanged stays where it is. Both are ignored if the function is part of another program, as inside `grad`.
        engine: ``"xla"``, by ``jax.jit``, on CPU, GPU or TPU; ``"numpy"``, straight-line NumPy code without JAX; or
            ``"numba"``, the same with loops compiled by LLVM, which ``pip install llvmlite`` installs.
            Its numbers equal those of ``"numpy"`` to the last bit, except for sums over rows of large arrays, which
            are computed block by block. Its loops give no warnings of arithmetic.
        paths: the most paths through the branches of ``f`` that are compiled, for arguments of the same types. With 1,
            a branch on a traced value is an error. With more, ``if``, ``while``, ``int()`` and indices follow the
            numbers of the call, and each new path is staged once. A call that needs one more path runs eagerly. On XLA
            nothing is donated then.
        roll: whether repeated equations of a long program, such as the rounds of a Python loop, are compiled as a loop
            (`Graph.roll`). The results are the same. A program of up to 400 equations on XLA and NumPy, and of up to 64
            on Numba, is not rolled.

    Returns:
        A function like ``f``. On XLA its results are ``jax.Array`` s, except for those of 64 bits. Outside JAX's 64-bit
        mode these are NumPy arrays, because the next JAX operation would cut them to 32 bits. An argument that is
        returned unchanged is the same object.

    Raises:
        ValueError: there is no ``engine`` of that name, or it has no shardings; ``paths`` is below 1; shardings are no
            prefix of the arguments or of the result. When called on the NumPy or the Numba engine: a donated array is
            read-only or shares memory with another argument.
        ModuleNotFoundError: the engine's compiler is not installed.
        ConcretizationTypeError: ``f`` needs a number, and only the type is known.
        TypeError: ``paths`` is no integer.

    Warns:
        PathsWarning: once for each function, when a call takes a path beyond ``paths`` and runs eagerly.
        LargeProgramWarning: once for each function whose XLA program has more than 8,000 equations, as a long unrolled
            loop has; `scan` compiles the body of a loop once. XLA compiles a program of more than 4,000 equations in
            stretches, and does not donate its arguments.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> f = fg.jit(lambda x: np.tanh(x).sum(), engine="numpy")
        >>> round(float(f(np.array([0.5, 1.0]))), 4)
        1.2237
        >>> @fg.jit(engine="numpy", paths=8)
        ... def root(a):
        ...     x = a
        ...     while abs(x * x - a) > 1e-9:
        ...         x = 0.5 * (x + a / x)
        ...     return x
        >>> float(root(9.0))
        3.0

    Source: the signature is ``jax.jit``'s.
    """
    on = engine_named(engine)
    if f is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            engine=engine,
            paths=paths,
            roll=roll,
        )
    _check_paths(f, paths)
    static = StaticArguments(f, static_argnums, static_argnames)
    names = static.donated_names(donate_argnames)
    donate_argnums = static.with_positions(donate_argnums, names)
    if on.tracing is None and (in_shardings is not None or out_shardings is not None):
        raise ValueError(
            f'jit: shardings of {name_of(f)} were given to engine "{engine}", whose arrays are in one memory; needed '
            'engine="xla". Leave out in_shardings and out_shardings, or the engine.'
        )
    if paths > 1:
        jitted = _with_paths(f, static, on, donate_argnums, (in_shardings, out_shardings), paths)
    elif on.tracing is not None:
        jitted = XlaFunction(f, static, on, donate_argnums, (in_shardings, out_shardings))
    else:
        jitted = SourceFunction(f, static, on, donate_argnums)
    jitted.roll = roll
    jitted.donated_names = names
    # f's attributes are not copied: those of a wrapper around a jitted function belong to that function.
    return functools.update_wrapper(jitted, f, updated=())


def _check_paths(f: Callable[..., Any], paths: Any) -> None:
    if isinstance(paths, bool) or not isinstance(paths, int | np.integer):
        raise TypeError(
            f"jit: paths of {name_of(f)} is a {type(paths).__name__}; needed the number of ways through the branches "
            "that are compiled. Write paths=8, or leave it out where nothing branches on numbers."
        )
    if paths < 1:
        raise ValueError(
            f"jit: paths of {name_of(f)} is {paths}; needed 1 or more. Write paths=8, or leave it out where nothing "
            "branches on numbers."
        )


def _with_paths(
    f: Callable[..., Any],
    static: StaticArguments,
    engine: Engine,
    donated: Numbers,
    shardings: tuple[Any, Any],
    paths: int,
) -> Jitted:
    if engine.tracing is None:
        return SourcePaths(f, static, engine, donated, paths)
    return XlaPaths(f, static, engine, donated, paths, shardings)
