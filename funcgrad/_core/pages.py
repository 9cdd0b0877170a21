"""Memory that the process keeps from one step of a program to the next."""

import functools

import numpy as np

# The largest block that glibc's rule counts is 32 MiB with its header.
_BLOCK = (32 << 20) - 8192


@functools.cache
def keep_pages() -> None:
    """Make glibc keep up to 64 MiB of freed memory; other C libraries are left as they are.

    A training step frees its arrays, and the next step allocates them again. glibc returns free memory to the system if
    there is more of it than twice the largest block that was ever freed (``mallopt(3)``, "dynamic mmap threshold"). The
    next step then waits for each page of 4 KiB again: 0.2 us on a desktop, 7 us on a virtual machine, where an eager
    step of an LSTM (20 steps, batch 32, width 64) took 3.5 ms instead of 1.9 ms. Freeing one block of 32 MiB raises the
    limit. Nothing is written to the block, so it never takes memory.
    """
    np.empty(_BLOCK, np.uint8)
