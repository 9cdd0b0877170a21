"""Fixtures and settings of all tests: seeded random numbers, and property tests without a time limit."""

import gc
import os
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from tests._recorded import HAS_TORCH, PyTorch, save

# A failing test shows the frames of the library.
os.environ.setdefault("FUNCGRAD_FULL_TRACEBACKS", "1")

# XLA programs of tests are small, run once, and differ: LLVM's optimizations and the emitter of fused loops, which give
# the same numbers faster, cost four times what the rest of their compilation does. ``XLA_FLAGS= make test-all``
# compiles as users do, and so does ``make fuzz``.
_FLAGS = [
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",
]
# XLA ends the process if it does not know a flag, and pytest reports nothing: jaxlib 0.12 lacks this flag.
with suppress(PackageNotFoundError):
    if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
        _FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(_FLAGS))

# Programs compiled in an earlier run are read from here. Tests that count compilations also count these reads.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Kernels compiled by Numba are kept too.
os.environ.setdefault("FUNCGRAD_CACHE_DIR", str(Path(__file__).parent.parent / ".kernel_cache"))

# A first call may compile for seconds, and other work may share the machine, so examples have no deadline.
hypothesis.settings.register_profile("default", deadline=None, max_examples=50)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def pytorch(request: pytest.FixtureRequest) -> PyTorch:
    """Return PyTorch's answers, from PyTorch or from the recordings."""
    return PyTorch(request.path, request.node.name, request.config.stash.get(NEW_ANSWERS, None))


@pytest.fixture(scope="session")
def torch() -> Any:
    """Return PyTorch itself, for tests that recordings cannot serve."""
    if not HAS_TORCH:
        pytest.skip("runs PyTorch itself, which is not installed here: make torch")
    return import_module("torch")


NEW_ANSWERS = pytest.StashKey[dict[Path, dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="record PyTorch's answers (make record)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record"):
        config.stash[NEW_ANSWERS] = {}


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == 0:
        for path, answers in session.config.stash.get(NEW_ANSWERS, {}).items():
            save(path, answers)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip scripts and helpers: doctest would import them, and some import PyTorch."""
    is_helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_helper and collection_path.is_file() else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that compare with PyTorch."""
    if {"torch", "pytorch"} & set(getattr(item, "fixturenames", ())):
        item.add_marker("torch")


def pytest_collection_finish() -> None:
    """Keep the objects that collection made out of the garbage collector, which would visit them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
