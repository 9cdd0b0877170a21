"""JAX's names of arguments, for functions of ours that name them otherwise or not at all."""

from __future__ import annotations

_XY = (
    "add atan2 bitwise_and bitwise_or bitwise_xor eq ge gt le lt max min mul ne pow rem shift_left "
    "shift_right_arithmetic sub"
)
_X = (
    "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil cos cosh digamma erf erf_inv "
    "erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg real reciprocal sign sin sinh sqrt square "
    "tan tanh unstack"
)
_SPECIAL_X = (
    "dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit gamma gammaln gammasgn i0 i0e i1 i1e loggamma logit ndtr "
    "spence"
)
# For each module: the first arguments, and the functions that have them.
_GROUPS: dict[str, dict[str, str]] = {
    "jax.numpy": {
        "a": "packbits reshape unpackbits",
        "a b": "inner matmul promote_types vdot",
        "arrays": "concatenate",
        "prototype": "empty_like",
        "start stop step": "arange",
        "x": "trunc",
        "x1 x2": "fmax fmin gcd lcm",
    },
    "jax.numpy.linalg": {"M": "matrix_rank"},
    "jax.lax": {
        "x y": _XY,
        "x": _X,
        "a b x": "betainc",
        "a x": "igamma igammac",
        "operands": "stack",
        "x1 x2": "nextafter",
    },
    "jax.scipy.linalg": {"A B C": "solve_sylvester"},
    "jax.scipy.special": {
        "x": _SPECIAL_X,
        "p": "ndtri",
        "a b": "beta betaln",
        "a b x": "betainc hyp1f1",
        "a x": "gammainc gammaincc",
        "a b c x": "hyp2f1",
        "h a": "owens_t",
        "n x": "expn",
        "p q": "kl_div rel_entr",
        "x lmbda": "boxcox boxcox1p",
        "x series_order": "log_ndtr",
        "x y": "xlog1py xlogy",
        "z m": "poch",
    },
}


def first_arguments(module: str) -> dict[str, tuple[str, ...]]:
    """Return JAX's names of the first arguments of functions of a module, where ours differ.

    Args:
        module: the module, for example ``"jax.lax"``.
    """
    groups = _GROUPS.get(module, {})
    return {name: tuple(arguments.split()) for arguments, listed in groups.items() for name in listed.split()}


_OF_DEVICES = "it is an option for programs that run on several devices. Leave it out."
_BY_POSITION = "the argument has another name here. Give it by position."
_WIDTH = "sums and products of integers have 64 bits here, as in NumPy. Give a dtype for another width."
_CHOSEN = "all values are computed here. Take a slice of the result."
# JAX's arguments that functions here do not have, and what to write instead.
ABSENT_ARGUMENTS: dict[str, dict[str, str]] = {
    **{
        f"jax.{name}": {
            "allow_int": "functions of integers have no gradient here. Cast the argument to a float dtype.",
            **({"reduce_axes": _OF_DEVICES} if "grad" in name else {}),
        }
        for name in ("grad", "jacobian", "jacrev", "value_and_grad")
    },
    "jax.linear_transpose": {"reduce_axes": _OF_DEVICES},
    "jax.vmap": {"spmd_axis_name": _OF_DEVICES, "sum_match": _OF_DEVICES},
    "jax.numpy.intersect1d": dict.fromkeys(("size", "fill_value"), "write jnp.unique(size=...), then jnp.isin."),
    "jax.numpy.setxor1d": dict.fromkeys(("size", "fill_value"), "write jnp.unique(size=...), then jnp.isin."),
    "jax.numpy.prod": {"promote_integers": _WIDTH},
    "jax.numpy.sum": {"promote_integers": _WIDTH},
    "jax.numpy.linalg.lstsq": {"numpy_resid": "the residuals are computed as numpy.linalg.lstsq computes them."},
    "jax.numpy.linalg.svd": {"subset_by_index": _CHOSEN},
    "jax.lax.conv_transpose": {"use_consistent_padding": "write the padding as pairs of numbers."},
    "jax.lax.mul": {"out_dtype": "write lax.convert_element_type(x * y, dtype)."},
    **{
        f"jax.lax.{name}": {
            "axis_index_groups": "JAX's vmap refuses this option, too. Nest two vmaps with two named axes instead."
        }
        for name in ("all_to_all", "pmax", "pmean", "pmin", "psum", "psum_scatter", "pswapaxes")
    },
    "jax.lax.scan": {"_split_transpose": "it is an internal option of JAX. Leave it out."},
    "jax.lax.linalg.eigh": {"subset_by_index": _CHOSEN},
    "jax.lax.linalg.qr": {"pivoting": "write jax.scipy.linalg.qr(x, pivoting=True)."},
    "jax.lax.linalg.svd": {"subset_by_index": _CHOSEN},
    "jax.lax.linalg.symmetric_product": {"symmetrize_output": "both triangles of the result are computed always."},
    "jax.lax.linalg.tridiagonal_solve": {
        "perturb_singular": "a singular matrix gives infinities here. Add a small number to its diagonal instead."
    },
    "jax.nn.dot_product_attention": {"return_residual": "write jax.scipy.special.logsumexp of the logits."},
    "jax.tree.broadcast": dict.fromkeys(("prefix_tree", "full_tree"), _BY_POSITION),
    "jax.tree.reduce": {"function": _BY_POSITION},
    "jax.tree.transpose": dict.fromkeys(("outer_treedef", "inner_treedef", "pytree_to_transpose"), _BY_POSITION),
    "jax.tree_util.tree_broadcast": dict.fromkeys(("prefix_tree", "full_tree"), _BY_POSITION),
    "jax.tree_util.tree_reduce": {"function": _BY_POSITION},
    "jax.tree_util.tree_transpose": dict.fromkeys(
        ("outer_treedef", "inner_treedef", "pytree_to_transpose"), _BY_POSITION
    ),
    **{
        f"jax.{name}": {"is_leaf_takes_path": "is_leaf is called with the value, without its path."}
        for name in (
            *("tree.flatten_with_path", "tree.leaves_with_path", "tree.map_with_path"),
            *("tree_util.tree_flatten_with_path", "tree_util.tree_leaves_with_path", "tree_util.tree_map_with_path"),
        )
    },
    "jax.dtypes.issubdtype": dict.fromkeys(("a", "b"), _BY_POSITION),
    "jax.dtypes.result_type": {"return_weak_type_flag": "read jax.typeof(x).weak_type instead."},
    "jax.scipy.linalg.eigh_tridiagonal": {"key": "the algorithm uses no random numbers here. Leave it out."},
    "jax.scipy.linalg.polar": dict.fromkeys(
        ("eps", "max_iterations"), "the decomposition is computed without iterations here. Leave it out."
    ),
    "jax.scipy.linalg.solve_sylvester": {
        "tol": "an equation without a unique solution raises an error here. Leave it out."
    },
}
