"""Memory that the process keeps between steps."""

import platform
import subprocess
import sys

import pytest

# Prints the pages that a step waits for, before and after the first backward pass.
PROGRAM = """
import resource
import numpy as np
import funcgrad as fg

def pages():
    steps = 10
    first = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        held = [np.ones(100_000) for _ in range(10)]
        del held
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - first) // steps

pages()
before = pages()
fg.grad(lambda x: x * x)(2.0)
pages()
print(before, pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep memory by other rules")
def test_steps_after_a_backward_pass_do_not_wait_for_pages() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, after = map(int, result.stdout.split())
    assert before > 1_000, "glibc keeps memory by itself: keep_pages() can go"
    assert after < before // 10
