"""Differences from SciPy that are meant, or have a reason beyond this library."""

from __future__ import annotations

from tests.own_tests.reasons import Known

KNOWN_OF_SCIPY = (
    Known(
        "scipy.linalg.funm scipy.linalg.logm scipy.linalg.sqrtm scipy.linalg.fractional_matrix_power",
        "The numbers decide in SciPy whether the result is complex; here the dtype does.",
        kinds="dtype",
    ),
    Known(
        "scipy.spatial.distance.*",
        "SciPy's test metrics have other names, and are refused as unknown ones.",
        kinds="error",
        text="unknown distance metric: test_",
    ),
    Known(
        "scipy.stats.beta.ppf scipy.stats.beta.isf",
        "SciPy's library raises beyond its range, and ours is NaN or infinite.",
        kinds="answer",
        text="^OverflowError",
    ),
    Known(
        "scipy.signal.deconvolve",
        "SciPy returns an empty list where the divisor is the longer one.",
        kinds="structure",
    ),
    Known(
        "scipy.*",
        "An argument that SciPy's function has and ours has not is refused by Python, by its name.",
        kinds="crash error",
        text=r"got an unexpected keyword argument|missing \d required positional|takes .* positional arguments? but",
    ),
    Known(
        "scipy.linalg.*",
        "Half precision is refused: LAPACK has none, and SciPy widens it.",
        kinds="crash",
        text="which LAPACK computes in",
    ),
    Known(
        "scipy.integrate.simpson",
        "Under jit places that are equal are not seen, and the result is NaN.",
        kinds="value",
        ways="numpy xla",
        text="^np.float64.nan",
    ),
    Known(
        "scipy.integrate.odeint",
        "Two integrators differ within their tolerances, and a Jacobian is not asked for.",
        kinds="value answer",
    ),
    Known(
        "scipy.integrate.odeint",
        "SciPy's report needs known numbers, and an integration a time.",
        kinds="refusal crash",
        text="full_output was asked for|and a time at least",
    ),
    Known(
        "scipy.linalg.eig scipy.linalg.eigvals",
        "LAPACK gives eigenvalues in another order where no vectors are asked for, and of pairs of matrices.",
        kinds="value",
        ways="eager numpy xla",
        text="complex(64|128)",
    ),
    Known(
        "scipy.linalg.eigvals",
        "Pairs of matrices with a singular second one are refused.",
        kinds="crash",
        text="Singular matrix",
    ),
    Known(
        "scipy.linalg.logm",
        "A singular matrix has no logarithm: it is NaN here, and what SciPy's rounding makes of it there.",
        kinds="value answer",
    ),
    Known(
        "scipy.linalg.orthogonal_procrustes",
        "Of a product of lower rank the nearest unitary matrix is not unique.",
        kinds="value",
    ),
    Known(
        "scipy.linalg.solve scipy.linalg.solve_toeplitz",
        "The test's matrix is so badly conditioned that rounding decides.",
        kinds="value",
        call=r"0\.6561",
    ),
    Known(
        "scipy.linalg.solve_toeplitz",
        "Levinson's recursion, SciPy's, fails where a leading block is singular; a general system does not.",
        kinds="answer",
    ),
    Known(
        "scipy.linalg.subspace_angles scipy.signal.detrend",
        "What rounding leaves of 0.",
        kinds="value",
        text="e-",
    ),
    Known(
        "scipy.linalg.toeplitz scipy.linalg.eig scipy.linalg.det",
        "Ours takes empty stacks, and does not check for infinities.",
        kinds="answer",
        text="zero-size batches|must not contain infs",
    ),
    Known(
        "scipy.special.gammaln",
        "Rounding of differences near poles.",
        kinds="value",
        ways="derivative",
    ),
    Known(
        "scipy.stats.pearsonr scipy.stats.spearmanr",
        "The samples are two vectors.",
        kinds="crash",
        text="needed two vectors of",
    ),
    Known(
        "scipy.signal.resample_poly scipy.signal.filtfilt",
        "The error names the mode that is not here.",
        kinds="refusal crash",
        text="is not supported. Use one of|which has no rules here",
    ),
    Known(
        "scipy.linalg.cho_factor scipy.linalg.cholesky_banded",
        "Nobody reads the other triangle, nor the corners of the bands: they are 0 here.",
        kinds="value",
    ),
    Known(
        "scipy.linalg.*",
        "Which of LAPACK's drivers computes it is not chosen here.",
        kinds="answer",
        text="driver|can only be used when|gvx|Possible values are",
    ),
    Known(
        "scipy.linalg.inv scipy.linalg.solve",
        "One triangle is read, and the derivative is that of the Hermitian matrix, by all elements.",
        kinds="value",
        ways="derivative",
        call="assume_a",
    ),
    Known(
        "scipy.linalg.*",
        "The error names the option, or the shape, that has no derivative here.",
        kinds="refusal crash",
        text="has no derivative here|needed square matrices",
    ),
    Known(
        "scipy.stats.*",
        "There are mean and variance; distributions are of real numbers.",
        kinds="refusal",
        text="the moments '|distributions are of real numbers",
    ),
    Known(
        "scipy.ndimage.*",
        "Results are floats, and an array for the result takes traced values.",
        kinds="refusal",
        text="output has the dtype|output is an array of plain numbers",
    ),
    Known(
        "scipy.special.*",
        "The function is here for real numbers.",
        kinds="refusal",
        text="an operand is complex",
    ),
    Known(
        "scipy.linalg.pinv scipy.linalg.pinvh scipy.linalg.solve_circulant",
        "A cutoff in the units of the matrix, and a solution for singular matrices, have no derivative here.",
        kinds="refusal",
        text="has no derivative here",
    ),
    Known(
        "scipy.stats.*",
        "There is no formula for it; the error names those that there are.",
        kinds="refusal",
        text="has no formula for it",
    ),
    Known(
        "scipy.special.polygamma",
        "Orders are whole numbers from 0 on.",
        kinds="crash",
        text="needed an integer",
    ),
)
