"""Functions of ``scipy.linalg`` that have no derivative, and a replacement for each."""

from __future__ import annotations

_FORM = "a matrix has many such forms, so the result is not a function of the matrix and has no derivative"
INSTEAD = {
    "null_space": f"{_FORM}. Use the projector np.eye(n) - linalg.pinv(a) @ a, which has a derivative.",
    "orth": f"{_FORM}. Use the projector a @ linalg.pinv(a), which has a derivative, or linalg.qr(a, mode='economic').",
    "schur": f"{_FORM}. Use linalg.eig, or the function that needs the form: linalg.logm, linalg.sqrtm, linalg.expm.",
    "rsf2csf": f"{_FORM}. Use linalg.eig, or the function that needs the form: linalg.logm, linalg.sqrtm, linalg.expm.",
    "cdf2rdf": f"{_FORM}. Use linalg.eig.",
    "hessenberg": f"{_FORM}. Use linalg.solve or linalg.eig of the matrix itself.",
    "qz": f"{_FORM}. Use linalg.eig(a, b, right=False).",
    "ordqz": f"{_FORM}. Use linalg.eig(a, b, right=False).",
    "cossin": f"{_FORM}. Use linalg.svdvals of the blocks.",
    "ldl": "its pivots depend on the numbers. Use linalg.cholesky, linalg.lu or linalg.solve.",
    "qr_multiply": "it works on a packed form. Multiply by q of linalg.qr(a, mode='economic').",
    "qr_update": "it works on factors that are not unique. Use linalg.qr of the changed matrix.",
    "qr_insert": "it works on factors that are not unique. Use linalg.qr of the changed matrix.",
    "qr_delete": "it works on factors that are not unique. Use linalg.qr of the changed matrix.",
    "matrix_balance": "it scales by powers of 2, in steps. Leave it out: LAPACK balances by itself.",
    "signm": "it has no derivative rule here. Use linalg.solve(linalg.sqrtm(a @ a), a).",
    "expm_cond": "it estimates a condition number. Call it with plain numbers, outside of the transform.",
    "solve_continuous_are": "it has no derivative rule here. Use fg.implicit_root with SciPy's function as the solver.",
    "solve_discrete_are": "it has no derivative rule here. Use fg.implicit_root with SciPy's function as the solver.",
}
