"""The rule of SGD on NumPy arrays with known hyperparameters: written to given memory, block by block, on all cores.

Each ufunc is a pass over memory. In blocks that stay in cache only the first and the last touch it really matter, so a
step moves the five streams that it must: reads of parameter, gradient and buffer, writes of parameter and buffer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, NamedTuple

import numpy as np

from funcgrad.optim._run import loops as _kernel

# Elements per block. Smaller ones lie deeper in cache, but the threads then wait for each other between ufuncs: a step
# on the tensors of a ResNet-50 takes 28 ms with blocks of 16,384, 18 with 32,768, 14 with 65,536, 12.5 with 131,072.
BLOCK = 1 << 17
# From this many elements in all on a second thread pays.
THREADED = 1 << 18


class Known(NamedTuple):
    """Hyperparameters that Python knows."""

    lr: float
    momentum: float
    weight_decay: float
    nesterov: bool
    maximize: bool


class Move(NamedTuple):
    """One parameter's step: what is read, and where the results go, which may be the same memory."""

    p: np.ndarray
    g: np.ndarray
    buffer: np.ndarray | None
    # What the gradient is multiplied by when it enters the buffer; ``None`` at the first step.
    keep: float | None
    new_p: np.ndarray
    new_buffer: np.ndarray | None


def write_steps(moves: Sequence[Move], hyper: Known) -> None:
    """Take the steps of several parameters."""
    total = sum([move.p.size for move in moves])
    if total <= BLOCK:
        for move in moves:
            _write(move, hyper, np.empty(move.p.shape, move.p.dtype), None)
        return
    threaded = total >= THREADED
    compiled = threaded and _kernel.usable()
    if compiled:
        # In this thread: the others need not wait for each other then.
        _kernel.loops()
    blocks: list[Move] = []
    for move in moves:
        if compiled:
            blocks += _blocks(move, _kernel.BLOCK)
        elif move.p.size > BLOCK:
            blocks += _blocks(move, BLOCK)
        else:
            _write(move, hyper, np.empty(move.p.shape, move.p.dtype), None)
    workers = _workers() if threaded else 1
    if workers == 1 or len(blocks) < 2:
        _write_blocks(blocks, hyper, compiled)
        return
    shares = _shares(blocks, workers)
    # Each worker in a copy of the caller's context: np.errstate, say, holds for the whole step.
    waiting = [_pool().submit(copy_context().run, _write_blocks, share, hyper, compiled) for share in shares[1:]]
    try:
        _write_blocks(shares[0], hyper, compiled)
    finally:
        # Whatever was raised here, nobody writes to the results any more when this returns.
        wait(waiting)
    for one in waiting:
        one.result()


def _shares(blocks: Sequence[Move], workers: int) -> list[list[Move]]:
    """The blocks in runs of about equal size."""
    total = sum([move.p.size for move in blocks])
    shares: list[list[Move]] = [[] for _ in range(workers)]
    before = 0
    for move in blocks:
        shares[before * workers // max(total, 1)].append(move)
        before += move.p.size
    return shares


def _blocks(move: Move, size: int) -> list[Move]:
    """The same step in parts of a size; as it is where the memory is not in one piece."""
    arrays = {id(x): x for x in move if type(x) is np.ndarray}
    if not all(x.flags.c_contiguous for x in arrays.values()):
        return [move]
    # What is one array before is one array after: the compiled loops ask for it.
    flat = {key: x.reshape(-1) for key, x in arrays.items()}
    blocks = []
    for start in range(0, move.p.size, size):
        parts = flat if move.p.size <= size else {key: x[start : start + size] for key, x in flat.items()}
        fields: list[Any] = [parts.get(id(x), x) for x in move]
        blocks.append(Move(*fields))
    return blocks


def _write_blocks(moves: Sequence[Move], hyper: Known, compiled: bool) -> None:
    scratch: dict[np.dtype, np.ndarray] = {}
    for move in moves:
        if compiled and _kernel.takes(move):
            _kernel.write(move, hyper)
            continue
        p = move.p
        if p.size > BLOCK or p.ndim != 1:
            _write(move, hyper, np.empty(p.shape, p.dtype), None)
            continue
        pair = scratch.get(p.dtype)
        if pair is None:
            pair = scratch[p.dtype] = np.empty((2, BLOCK), p.dtype)
        _write(move, hyper, pair[0, : p.size], pair[1, : p.size])


def _write(move: Move, hyper: Known, work: np.ndarray, ahead: np.ndarray | None) -> None:
    p, g, buffer, keep, new_p, new_buffer = move
    d = _decayed(p, g, hyper, work)
    if new_buffer is None:
        down = np.multiply(d, hyper.lr, work)
    elif buffer is None or keep is None:
        # The buffer is kept, and the gradient is the caller's: never the same memory.
        np.copyto(new_buffer, d)
        down = _direction(d, new_buffer, hyper, work, ahead)
    else:
        np.multiply(buffer, hyper.momentum, new_buffer)
        # Where something is left out (dampening), nothing looks ahead, and d is not needed again.
        np.add(new_buffer, d if keep == 1 else np.multiply(d, keep, work), new_buffer)
        down = _direction(d, new_buffer, hyper, work, ahead)
    np.subtract(p, down, new_p)


def _decayed(p: np.ndarray, g: np.ndarray, hyper: Known, work: np.ndarray) -> np.ndarray:
    if hyper.weight_decay != 0:
        np.multiply(p, hyper.weight_decay, work)
        return (np.subtract if hyper.maximize else np.add)(work, g, work)
    return np.negative(g, work) if hyper.maximize else g


def _direction(
    d: np.ndarray, buffer: np.ndarray, hyper: Known, work: np.ndarray, ahead: np.ndarray | None
) -> np.ndarray:
    if not hyper.nesterov:
        return np.multiply(buffer, hyper.lr, work)
    ahead = np.multiply(buffer, hyper.momentum, np.empty_like(work) if ahead is None else ahead)
    np.add(ahead, d, ahead)
    return np.multiply(ahead, hyper.lr, ahead)


_threads: list[ThreadPoolExecutor] = []


def _pool() -> ThreadPoolExecutor:
    """The threads, started when they are first needed."""
    if not _threads:
        _threads.append(ThreadPoolExecutor(max(_workers() - 1, 1), "funcgrad-sgd"))
    return _threads[0]


def _workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# A forked process has no threads but its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.clear)
