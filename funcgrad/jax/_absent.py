"""JAX's public names that are not here, by module, with the reason. ``docs/start/jax_names.md`` is made from it."""

from __future__ import annotations

# Reasons that several names share.
_INSIDE = "it is an internal part of JAX."
_PROMOTION = "dtypes are always promoted as in NumPy, so this error does not occur."
_DEVICES = (
    "a program for several devices is written with shardings here: jax.jit(f, in_shardings=..., out_shardings=...)."
)
_TOKENS = "tokens are not needed here. ordered=True of jax.debug.print and jax.debug.callback keeps the order."
_OLD = "it is an old name. Write jax.process_count, jax.process_index or jax.process_indices."
_REFS = (
    "arrays of funcgrad.jax cannot be written to. Write into NumPy arrays, which fg.jit compiles: see docs/writes.md."
)
_TYPE = "it is a class for arguments. Give the tuple or the string that it stands for."
_RANDOM = "write a sampler of jax.random with a key."
_COLLECTIVE = "it moves data between devices. Give shardings to jax.jit instead, which move the data."
_KEY_PATHS = "key paths are tuples of plain keys here. jax.tree_util.keystr prints them."

NEVER = {
    "primitive": "it is one of JAX's primitives. funcgrad has its own; fg.extend.Primitive declares one.",
}

_TOP = {
    **dict.fromkeys(("ad", "api_util", "core", "interpreters", "lib", "make_user_context", "monitoring"), _INSIDE),
    **dict.fromkeys(("array_garbage_collection_guard", "thread_guard", "no_execution", "no_tracing"), _INSIDE),
    **dict.fromkeys(("enable_checks", "jax2tf_associative_scan_reductions", "softmax_custom_jvp", "stages"), _INSIDE),
    **dict.fromkeys(("remove_size_one_mesh_axis_from_type", "allow_f16_reductions", "custom_derivatives"), _INSIDE),
    "numpy_rank_promotion": "arrays with different numbers of axes always broadcast here, as in NumPy.",
    **dict.fromkeys(("pmap", "shard_map", "smap", "reshard", "auto_pcast"), _DEVICES),
    **dict.fromkeys(("Ref", "new_ref", "empty_ref", "free_ref", "freeze", "ref"), _REFS),
    **dict.fromkeys(("host_count", "host_id", "host_ids"), _OLD),
    **dict.fromkeys(
        ("transfer_guard", "transfer_guard_device_to_device", "transfer_guard_device_to_host"),
        "arrays are NumPy arrays in the memory of the host. Arrays of JAX itself follow JAX's own setting.",
    ),
    "transfer_guard_host_to_device": "arrays are NumPy arrays here. Each compiled call copies them to the device.",
    **dict.fromkeys(
        ("make_array_from_callback", "make_array_from_process_local_data", "make_array_from_single_device_arrays"),
        "it makes an array of JAX that is spread over several devices. Call JAX's own function.",
    ),
    "closure_convert": "pass the values that a function closes over among its arguments.",
    "custom_batching": "vmap batches each operation. For a rule of your own, declare an fg.extend.Primitive.",
    "debug_key_reuse": "a key is a plain array here, so its uses cannot be counted.",
    "default_prng_impl": 'the random generator is always "threefry2x32" here.',
    "dlpack": "write jnp.from_dlpack(x); NumPy arrays have __dlpack__.",
    "ds": _INSIDE,
    "enable_custom_prng": 'the random generator is always "threefry2x32" here.',
    "experimental": "JAX's experimental modules are not part of funcgrad. Instead of checkify, use fg.debug_nans().",
    "explain_cache_misses": 'the logger "funcgrad" reports at debug level what was compiled and why.',
    "export": "call lower(...) of a compiled function, or fg.make_graph(f)(x).to_stablehlo(), which writes StableHLO.",
    "ffi": "call foreign code by jax.pure_callback.",
    "float0": "it is the dtype of gradients by integers. grad and vjp refuse integers here.",
    "fwd_and_bwd": "write value, pull = jax.vjp(f, x).",
    "legacy_prng_key": "keys are always arrays of two uint32 numbers here, as JAX's legacy keys are.",
    "live_arrays": "arrays are NumPy arrays here, and Python frees their memory.",
    "memory": "arrays are NumPy arrays in the memory of the host.",
    "threefry_partitionable": "random numbers always have the bits of JAX's default setting.",
    "version": "write funcgrad.__version__.",
}
_NUMPY = {
    "int1": "NumPy has no integers of one bit. Write bool.",
    "uint1": "NumPy has no integers of one bit. Write bool.",
    "fromfile": "it raises NotImplementedError in JAX. Write jnp.asarray(np.fromfile(file)).",
    "fromiter": "it raises NotImplementedError in JAX. Write jnp.asarray(np.fromiter(values, dtype)).",
    "frompyfunc": "it makes arrays of Python objects in NumPy. Write jnp.vectorize(f).",
    "ufunc": "functions such as jnp.add are plain functions here. Write np.add.reduce(x) instead of jnp.add.reduce(x). "
    "It works on traced values, too.",
}
_LAX = {
    **dict.fromkeys(("AccuracyMode", "DotAlgorithm", "DotAlgorithmPreset", "Tolerance", "RandomAlgorithm"), _TYPE),
    **dict.fromkeys(("ConvGeneralDilatedDimensionNumbers", "DotDimensionNumbers", "PrecisionLike"), _TYPE),
    "RaggedDotDimensionNumbers": _TYPE,
    **dict.fromkeys(("after_all", "create_token"), _TOKENS),
    **dict.fromkeys(("pcast", "precv", "psend", "ragged_all_to_all"), _COLLECTIVE),
    **dict.fromkeys(("composite", "dce_sink", "stage", "shape_as_value"), _INSIDE),
    **dict.fromkeys(
        ("conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose_shape_tuple"),
        "write jax.eval_shape(f, x), which gives the shape of any function's result.",
    ),
    "reduce_window_shape_tuple": "write jax.eval_shape(f, x), which gives the shape of any function's result.",
    **dict.fromkeys(("ragged_dot_general", "scaled_dot"), "write jnp.einsum or jax.lax.dot_general."),
    **dict.fromkeys(("rng_bit_generator", "rng_uniform"), _RANDOM),
    "random_gamma_grad": "call jax.grad of a function of jax.random.gamma or jax.scipy.special.gammainc.",
    "scatter_apply": "write x.at[index].apply(f).",
    "with_sharding_constraint": _DEVICES,
}
_LAX_LINALG = {
    **dict.fromkeys(("EigImplementation", "EighImplementation", "SvdAlgorithm"), _TYPE),
    "ormqr": "write jax.scipy.linalg.qr_multiply.",
}
_NN = {
    **dict.fromkeys(
        ("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"),
        "it is a product of 8-bit numbers for GPUs. Write jnp.matmul.",
    ),
}
_RANDOM_NAMES = {
    "key_dtype": "a key is an array of two uint32 numbers here.",
    "key_impl": 'the random generator is always "threefry2x32" here.',
}
_TREE_UTIL = {
    **dict.fromkeys(("DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "SequenceKey"), _KEY_PATHS),
    "default_registry": "register classes with fg.tree.register_node or fg.tree.register_dataclass.",
    **dict.fromkeys(
        ("flatten_one_level", "flatten_one_level_with_keys"),
        "write jax.tree.flatten(tree, is_leaf=lambda x: x is not tree).",
    ),
    "is_tree_node": "write not jax.tree_util.all_leaves([x]).",
}
_DEBUG = {
    **dict.fromkeys(("DebugEffect", "OrderedDebugEffect"), _INSIDE),
    **dict.fromkeys(
        ("inspect_array_sharding", "visualize_array_sharding", "visualize_sharding"),
        "arrays are NumPy arrays here. Call JAX's own function with an array of JAX.",
    ),
    "log": "write jax.debug.callback(logger.info, ...), or jax.debug.print.",
}
_DTYPES = {
    "TypePromotionError": _PROMOTION,
    "extended": "keys are arrays of two uint32 numbers here, so there are no extended dtypes.",
    "float0": "it is the dtype of gradients by integers. grad and vjp refuse integers here.",
    "itemsize_bits": "write 8 * np.dtype(dtype).itemsize.",
    "prng_key": "keys are arrays of two uint32 numbers here.",
    "scalar_type_of": "write type(np.dtype(dtype).type(0).item()).",
}
_SCIPY = {
    "spatial": "rotations of scipy.spatial have no derivatives here.",
}

ABSENT: dict[str, dict[str, str]] = {
    "jax": _TOP,
    "jax.numpy": _NUMPY,
    "jax.lax": _LAX,
    "jax.lax.linalg": _LAX_LINALG,
    "jax.nn": _NN,
    "jax.random": _RANDOM_NAMES,
    "jax.tree": {"static": "write jax.tree_util.register_static for a class, or jax.tree_util.Partial for a function."},
    "jax.tree_util": _TREE_UTIL,
    "jax.debug": _DEBUG,
    "jax.dtypes": _DTYPES,
    "jax.scipy": _SCIPY,
}
