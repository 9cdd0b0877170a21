"""PyTorch's names that are missing here: why, and what to use. `refuse` says so when one is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn

# Reasons, by names or beginnings of names (with a star) in PyTorch's namespace.
REASONS: dict[str, str] = {
    "tensors here are NumPy's arrays or JAX's on the device of their value; put a JAX array on another device": """
        mtia cpu cudnn_* miopen_* mkldnn_* Stream Event get_device_module OutOfMemoryError AcceleratorError
        DeviceObjType StreamObjType is_vulkan_available ipu record_stream to_mkldnn
    """,
    "quantized dtypes and kernels have no derivatives and are PyTorch's own": """
        quantize_* quantized_* fake_quantize_* fbgemm_* dequantize int_repr q_* qint* quint* qscheme per_tensor_*
        per_channel_* fused_moving_avg_obs_fake_quant choose_qparams_optimized empty_quantized ao quantization
        Q*Storage empty_per_channel_affine_quantized int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4
        uint5 uint6 uint7 bits* float8_* float4_*
    """,
    "programs are compiled by fg.jit, from functions of arrays": """
        jit fx export compiler ScriptModule ScriptFunction* Script* *Type Graph GraphExecutorState FunctionSchema
        CompilationUnit Code Block Node Value Use Argument ArgumentSpec CompleteArgumentSpec AliasDb ErrorReport
        FileCheck import_ir_module* parse_* merge_type_from_type_comment unify_type_list OperatorInfo Gradient
        IODescriptor TracingState ConcreteModuleTypeBuilder LiteScriptModule StaticModule Capsule fork wait cond
        while_loop library ops classes package Sym* sym_* Tag init_num_threads CallStack JITException
        DeepCopyMemoTable ThroughputBenchmark BenchmarkConfig BenchmarkExecutionStats InferredType Future FatalError
        PRIVATE_OPS AggregationType AVG SUM Disable* Dispatch* Exclude*
    """,
    "sparse arrays are funcgrad.sparse's and SciPy's": """
        sparse sparse_* dsmm hsmm hspmm smm spmm sspaddmm saddmm crow_indices_copy ccol_indices_copy
        col_indices_copy row_indices_copy indices_copy values_copy resize_as_sparse_
        coalesce indices values ccol_indices col_indices crow_indices row_indices dense_dim sparse_dim sparse_mask
        to_sparse* to_padded_tensor
    """,
    "several processes are JAX's; see docs/clusters.md": "distributed multiprocessing prepare_multiprocessing*",
    "there is no automatic choice of narrow dtypes; convert with t.half() or t.bfloat16()": """
        autocast_* clear_autocast_cache get_autocast_* set_autocast_* is_autocast_*
    """,
    "it is a step inside PyTorch's kernels; use the module or function of nn": """
        batch_norm_* native_* *_copy_* slice_inverse hash_tensor thread_safe_generator scaled_mm grouped_mm
        scaled_grouped_mm _* embedding_renorm_ sym_constrain_range*
        segment_reduce debug_unwrap factory_kwargs LinearCrossEntropyOptions module_load
        enforce_grad_layout_policy
    """,
    "PyTorch checks the data pipes of an older package with it": """
        argument_validation non_deterministic runtime_validation runtime_validation_disabled
    """,
    "NumPy has no complex numbers of two half floats": "chalf",
    "funcgrad.interop.einops makes the package einops work on traced values": "rearrange",
    "it puts tensors without values into an optimizer, and there are none": "swap_in_optimizer_params_and_state",
    "a backward pass runs in the thread that calls it": "set_multithreading_enabled",
    "the axes of an array are in NumPy's order in memory": """
        convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format
    """,
    "PyTorch has deprecated it; use the newer name": "NLLLoss2d Container variable volatile reinforce NestedIOFunction",
    "memory is NumPy's: there are no storages; torch.as_strided_copy copies by strides": """
        *Storage storage untyped_storage storage_type set_ const_data_ptr index is_storage UntypedStorage TypedStorage
        Storage* as_strided as_strided_
        from_file DeserializationStorageContext
        SerializationStorageContext PyTorchFileReader PyTorchFileWriter to_dlpack
    """,
    "it is old: write torch.tensor(..., dtype=...)": """
        *Tensor
    """,
    "PyTorch itself has replaced it by a function of torch.linalg": """
        eig lstsq solve symeig matrix_rank lu lobpcg
        pca_lowrank svd_lowrank
    """,
}


# Functions of ``nn.functional`` that PyTorch's namespace has too, with the same arguments.
OF_NN = frozenset(
    """
    adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d
    conv3d conv_tbc conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity dropout feature_alpha_dropout max_pool1d
    max_pool2d max_pool3d pairwise_distance pixel_shuffle pixel_unshuffle rms_norm rrelu rrelu_ selu threshold_
    """.split()  # noqa: SIM905  (a table of words)
)
# Functions of this namespace that are methods of tensors, too.
METHODS = """
    as_strided_scatter geqrf histogram istft lu lu_solve new_empty_strided orgqr ormqr stft triangular_solve
"""
# PyTorch's inner modules, by the module that has them.
INNER_MODULES = {
    "nn": "modules parameter parallel",
    "nn.modules": """
        activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
        linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
    """,
    "nn.utils": "clip_grad convert_parameters",
    "optim": "optimizer sgd adam adamw adagrad adadelta rmsprop rprop lbfgs nadam radam asgd adamax",
    "utils.data": "dataset dataloader sampler",
    "distributions": """
        bernoulli beta binomial categorical cauchy chi2 dirichlet distribution exp_family
        exponential fishersnedecor gamma geometric gumbel half_cauchy half_normal independent
        inverse_gamma kl kumaraswamy laplace log_normal logistic_normal mixture_same_family
        multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson
        relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform von_mises
        weibull
    """,
}
UNWRITTEN = "it is not written yet"


def reason(name: str) -> str:
    """Return why a name of PyTorch's is missing; `UNWRITTEN` if no reason fits."""
    for text, patterns in REASONS.items():
        if any(_fits(name, pattern) for pattern in patterns.split()):
            return text
    return UNWRITTEN


def _fits(name: str, pattern: str) -> bool:
    if pattern.startswith("*"):
        return name.endswith(pattern[1:])
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def refuse(module: str, name: str, known: Iterable[str]) -> NoReturn:
    """Refuse a name that a module lacks, with the reason if PyTorch has the name, and the nearest name here."""
    if name.startswith("__"):
        raise AttributeError(f"module 'funcgrad.{module}' has no attribute '{name}'")
    near = difflib.get_close_matches(name, [each for each in known if not each.startswith("_")], 1)
    nearest = f" The nearest name here is {module}.{near[0]}." if near else ""
    why = reason(name)
    known_why = f"; {why}" if why != UNWRITTEN else ""
    raise AttributeError(
        f"module 'funcgrad.{module}' has no attribute '{name}'. PyTorch's names are here in part{known_why}; "
        f"docs/coverage.md lists the missing ones.{nearest}"
    )
