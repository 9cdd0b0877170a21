"""Steps on NumPy arrays with known hyperparameters: written to given memory, block by block, on all cores.

Each ufunc is a pass over memory. In blocks that stay in cache only the first and the last touch it really matter, so a
step moves the streams that it must: of SGD with momentum reads of parameter, gradient and buffer, writes of parameter
and buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.threads import together, workers
from funcgrad.optim._run import loops
from funcgrad.optim._run.program import Program

# Elements per block. Smaller ones lie deeper in cache, but the threads then wait for each other between ufuncs: a step
# on the tensors of a ResNet-50 takes 28 ms with blocks of 16,384, 18 with 32,768, 14 with 65,536, 12.5 with 131,072.
BLOCK = 1 << 17
# From this many elements in all on a second thread pays.
THREADED = 1 << 18


class Move(NamedTuple):
    """One parameter's step: what is read, and where the results go, which may be the same memory.

    Steps are handed over as plain tuples of this form, which take a fifth of the time to make.
    """

    program: Program
    # Parameter, gradient, slots.
    arrays: tuple[np.ndarray, ...]
    # The numbers that meet them, in their dtype.
    scalars: Sequence[Any]
    # Parameter, slots.
    results: tuple[np.ndarray, ...]


Step = tuple[Program, tuple[np.ndarray, ...], Sequence[Any], tuple[np.ndarray, ...]]


def write_steps(steps: Sequence[Step]) -> None:
    """Take the steps of several parameters."""
    total = 0
    for _, arrays, _, _ in steps:
        total += arrays[0].size
    if total <= BLOCK:
        for step in steps:
            _write(*step)
    else:
        _write_large([Move(*step) for step in steps], total)


def _write_large(moves: Sequence[Move], total: int) -> None:
    threaded = total >= THREADED
    compiled = threaded and loops.usable()
    blocks: list[Move] = []
    prepared: set[Program] = set()
    for move in moves:
        if compiled:
            made = _blocks(move, loops.BLOCK)
            if made and move.program not in prepared:
                loops.prepare(made[0])
                prepared.add(move.program)
            blocks += made
        elif move.arrays[0].size > BLOCK:
            blocks += _blocks(move, BLOCK)
        else:
            _write(*move)
    count = workers() if threaded else 1
    if count == 1 or len(blocks) < 2:
        _write_blocks(blocks, compiled)
        return
    shares = _shares(blocks, count)
    together([partial(_write_blocks, share, compiled) for share in shares])


def _shares(blocks: Sequence[Move], workers: int) -> list[list[Move]]:
    """The blocks in runs of about equal size."""
    total = sum([move.arrays[0].size for move in blocks])
    shares: list[list[Move]] = [[] for _ in range(workers)]
    before = 0
    for move in blocks:
        shares[before * workers // max(total, 1)].append(move)
        before += move.arrays[0].size
    return shares


def _blocks(move: Move, size: int) -> list[Move]:
    """The same step in parts of a size; as it is where the memory is not in one piece, or the step needs it whole."""
    p = move.arrays[0]
    if p.ndim == 1 and p.size <= size:
        return [move]
    arrays = {id(x): x for x in (*move.arrays, *move.results)}
    if not move.program.rule.elementwise or not all(x.flags.c_contiguous for x in arrays.values()):
        return [move]
    # What is one array before is one array after: the compiled loops ask for it.
    flat = {key: x.reshape(-1) for key, x in arrays.items()}
    count = move.arrays[0].size
    blocks = []
    for start in range(0, count, size):
        parts = flat if count <= size else {key: x[start : start + size] for key, x in flat.items()}
        given = tuple([parts[id(x)] for x in move.arrays])
        blocks.append(Move(move.program, given, move.scalars, tuple([parts[id(x)] for x in move.results])))
    return blocks


def _write_blocks(moves: Sequence[Move], compiled: bool) -> None:
    scratch: dict[np.dtype, list[np.ndarray]] = {}
    for move in moves:
        loop = loops.loop_for(move) if compiled else None
        if loop is not None:
            loop()
            continue
        p = move.arrays[0]
        if p.size > BLOCK or p.ndim != 1:
            _write(*move)
            continue
        held = scratch.setdefault(p.dtype, [])
        while len(held) < move.program.ufuncs[1]:
            held.append(np.empty(BLOCK, p.dtype))
        run, count = move.program.ufuncs
        run(*move.arrays, *move.scalars, *move.results, *[x[: p.size] for x in held[:count]])


def _write(program: Program, arrays: Sequence[Any], scalars: Sequence[Any], results: Sequence[Any]) -> None:
    if not program.rule.elementwise:
        for place, value in zip(results, program.run(arrays, scalars, separated=False), strict=True):
            np.copyto(place, value)
        return
    if not arrays[0].shape:
        # Without memory to write to, ufuncs make scalars of these.
        arrays, results = ([x.reshape(1) for x in xs] for xs in (arrays, results))
    program.ufuncs[0](*arrays, *scalars, *results)
