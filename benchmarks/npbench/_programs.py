"""NPBench's programs, read from a checkout: their inputs, their NumPy versions and their JAX versions."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

SIZES = ("XS", "S", "M", "L", "paper")
# The programs whose gradients the tests of DaCe check (``tests/npbench`` of spcl/dace, marked ``autodiff``).
_DACE = """
adi atax bicg cavity_flow cholesky conv2d_bias correlation covariance deriche doitgen durbin fdtd_2d gemm gemver gesummv
go_fast gramschmidt hdiff heat_3d jacobi_1d jacobi_2d k2mm k3mm lenet lu ludcmp mlp mvt resnet seidel_2d softmax symm
syr2k syrk trisolv trmm vadv
"""
DACE = _DACE.split()
# Programs without an array of floats among arguments or results.
NOT_DIFFERENTIABLE = {
    "channel_flow": "returns the number of its steps",
    "compute": "integers",
    "crc16": "integers",
    "floyd_warshall": "integers",
    "mandelbrot1": "takes no array",
    "mandelbrot2": "takes no array",
    "nussinov": "integers",
}


class Program(NamedTuple):
    """One entry of NPBench's `bench_info`.

    Args:
        name: the file's name without its suffix.
        info: the content of the file.
        folder: the folder of the program's versions.
    """

    name: str
    info: dict[str, Any]
    folder: Path

    def inputs(self, size: str) -> dict[str, Any]:
        """Return the program's arguments by their names, at a size such as "S"."""
        values = dict(self.info["parameters"]["S" if size == "XS" else size])
        if size == "XS":
            values = {name: _smaller(value) for name, value in values.items()}
        init = self.info.get("init")
        if init:
            make = getattr(self._module(""), init["func_name"])
            made = make(*(values[name] for name in init["input_args"]))
            values.update(zip(init["output_args"], made if len(init["output_args"]) > 1 else (made,), strict=True))
        return {name: values[name] for name in self.info["input_args"]}

    def function(self, version: str) -> Callable[..., Any]:
        """Return the program written with a library: "numpy" or "jax"."""
        return getattr(self._module(f"_{version}"), self.info["func_name"])

    @property
    def outputs(self) -> tuple[str, ...]:
        """The arguments that the program writes its results into, in case it returns none."""
        return tuple(self.info["output_args"])

    def _module(self, suffix: str) -> ModuleType:
        path = self.folder / f"{self.info['module_name']}{suffix}.py"
        spec = importlib.util.spec_from_file_location(f"npbench_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def read(checkout: Path) -> dict[str, Program]:
    """Return the programs of a checkout of NPBench by their names."""
    found: dict[str, Program] = {}
    for path in sorted((checkout / "bench_info").glob("*.json")):
        info = json.loads(path.read_text())["benchmark"]
        found[path.stem] = Program(path.stem, info, checkout / "npbench" / "benchmarks" / info["relative_path"])
    if not found:
        raise FileNotFoundError(f"{checkout} holds no bench_info/*.json: give the path of a checkout of spcl/npbench")
    return found


def _smaller(value: Any) -> Any:
    """Return a tenth of a number of "S", but at least 32, for checks of the gradients alone. Smaller numbers stay.

    Sizes keep their order, because some programs need more rows than columns.
    """
    return max(value // 10, 32) if isinstance(value, int) and value > 32 else value


def differentiable(inputs: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the arguments that are arrays of floats or of complex numbers."""
    return tuple(name for name, value in inputs.items() if isinstance(value, np.ndarray) and value.dtype.kind in "fc")
