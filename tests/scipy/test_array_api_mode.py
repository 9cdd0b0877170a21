"""SciPy with ``SCIPY_ARRAY_API=1``, which it reads when it is imported: namespaces choose its functions."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

PROGRAM = """
import numpy as np, pytest, scipy.fft, scipy.ndimage, scipy.special as theirs
import funcgrad as fg, funcgrad.numpy as fnp
from funcgrad.scipy import special as ours

X, Y = np.array([0.3, 0.5, 0.9]), np.array([1.0, 2.0, 3.0])
assert not isinstance(theirs.expit, np.ufunc)

def slope(function, *others):
    return fg.grad(lambda x: np.sum(function(x, *[make() for make in others])))(X)

ONE = "expit logit erf erfc gammaln digamma psi ndtr log_ndtr entr i0 i1e erfinv ndtri cbrt exp10 log1p expm1 sinc"
for name in ONE.split():
    assert np.array_equal(slope(getattr(theirs, name)), slope(getattr(ours, name))), name
TWO = "xlogy rel_entr kl_div betaln xlog1py"
for name in TWO.split():
    function, expected = getattr(theirs, name), slope(getattr(ours, name), lambda: Y)
    assert np.array_equal(slope(function, lambda: fnp.array(Y)), expected), name
    with fg.intercept():
        assert np.array_equal(slope(getattr(theirs, name), lambda: Y), expected), name
    with pytest.raises(TypeError, match="Multiple namespaces") as info:
        slope(function, lambda: Y)
    assert any("Pass fnp.array(c) for the plain array c" in note for note in info.value.__notes__)
    assert not any("met a traced value; SciPy's own code" in note for note in info.value.__notes__)
with pytest.raises(fg.errors.UnsupportedFunctionError, match=r"^scipy\\.special\\.bdtr: it met a traced array"):
    slope(lambda x: theirs.bdtr(x, x, x))
with pytest.raises(fg.errors.UnsupportedFunctionError, match=r"Call fg\\.scipy\\.special\\.softmax instead"):
    slope(theirs.softmax)
assert np.allclose(slope(lambda x: np.real(scipy.fft.fft(x) * Y)), np.real(np.fft.fft(Y)), rtol=1e-15)
assert np.array_equal(theirs.expit(X), ours.expit(X))
with fg.intercept():
    # The transform calls loggamma(u, out=v) of complex numbers.
    found = slope(lambda x: scipy.fft.fht(x, 0.1, 0.5))
assert np.allclose(found, slope(lambda x: fnp.array(scipy.fft.fht(np.eye(3), 0.1, 0.5)).T @ x), rtol=1e-12)
# SciPy's filters call the functions that its public functions decorate.
for make in (scipy.ndimage.sobel, scipy.ndimage.laplace, lambda x: scipy.ndimage.uniform_filter(x, 2)):
    energy = lambda x: np.sum(make(np.outer(x, Y)) ** 2)
    with fg.intercept():
        found = fg.jvp(energy, (X,), (Y,))[1]
    assert np.isclose(found, (energy(X + 1e-6 * Y) - energy(X - 1e-6 * Y)) / 2e-6, rtol=1e-6)
"""


def test_traced_values_beside_each_other_and_beside_plain_arrays() -> None:
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
