"""Compile kernels: translate their text, let LLVM optimize it and make machine code, and load that."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from funcgrad._core.lazy import LazyModule
from funcgrad._engines.source.kernels.compiler import entry, functions, matrices, translate
from funcgrad._engines.source.kernels.compiler.entry import Argument, add_entry, python_function
from funcgrad._engines.source.kernels.compiler.store import loaded, save

_ir: Any = LazyModule("llvmlite.ir")
_llvm: Any = LazyModule("llvmlite.binding")


# The machine code of all kernels of the process. LLVM reads it where it is, and keeps its address.
_loaded: list[bytes] = []


def built(source: str, arguments: Sequence[Argument], returns: bool) -> Callable[..., int | None]:
    """Return the function of a kernel's text.

    Args:
        source: the text.
        arguments: its arguments.
        returns: whether it returns an integer.
    """
    processor = _processor()
    about = repr((source, [(str(x.dtype), *x[1:]) for x in arguments], returns, _compiler(), processor)).encode()
    name = f"kernel_{hashlib.sha256(about).hexdigest()}"
    code = loaded(about)
    if code is None:
        code = _machine_code(_text(name, source, arguments, returns))
        save(about, code)
    _loaded.append(code)
    engine = _engine()
    engine.add_object_file(_llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return python_function(engine.get_function_address(name))


@functools.cache
def _compiler() -> str:
    """Return the source of all that makes code of a text, because code on disk depends on it."""
    parts = [inspect.getsource(each) for each in (entry, functions, matrices, translate)]
    return "\n".join([*parts, Path(__file__).read_text(encoding="utf-8")])


def _text(name: str, source: str, arguments: Sequence[Argument], returns: bool) -> str:
    """Return a kernel in LLVM's language."""
    module = _ir.Module(name)
    module.triple, module.data_layout = _llvm.get_process_triple(), str(_target().target_data)
    kernel = translate.translated(module, source, [each.kind for each in arguments], returns)
    add_entry(module, name, kernel, arguments)
    return str(module)


def _machine_code(text: str) -> bytes:
    """Optimize a program of LLVM's, and return its machine code."""
    target = _target()
    module = _llvm.parse_assembly(text, _llvm.create_context())
    options = _llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    # Unrolling takes a third of a build, and runs are as long without it.
    options.loop_unrolling = False
    passes = _llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    return target.emit_object(module)


@functools.cache
def _processor() -> tuple[str, str, str]:
    """Return the kind of system, and the name and the features of its processor."""
    try:
        features = _llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        # LLVM does not know the features of each processor.
        features = ""
    return _llvm.get_process_triple(), _llvm.get_host_cpu_name(), features


@functools.cache
def _target() -> Any:
    """Return LLVM's description of this processor."""
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()
    triple, name, features = _processor()
    static = triple.startswith(("x86", "i686"))
    return _llvm.Target.from_triple(triple).create_target_machine(
        cpu=name, features=features, opt=3, reloc="static" if static else "default", codemodel="jitdefault", jit=True
    )


@functools.cache
def _engine() -> Any:
    """Return LLVM's loader of machine code. It keeps all kernels of the process."""
    return _llvm.create_mcjit_compiler(_llvm.parse_assembly("", _llvm.create_context()), _target())
