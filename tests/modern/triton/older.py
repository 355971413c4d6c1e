"""Cases of the other files compiled for older GPUs: Turing (sm_75), Ampere (sm_80) and Ada (sm_89).

collect.py compiles the cases of this file. It does not launch them; the driver compiles their PTX for the GPU.
"""
import dataclasses

import kernels_attention
import kernels_basic
import kernels_matmul

CASES = [("vector_add", 75), ("softmax", 75), ("matmul_f16", 75), ("matmul_f16_edges", 80), ("matmul_bf16", 80),
         ("matmul_tf32", 80), ("matmul_integers", 80), ("matmul_e4m3", 89), ("attention_forward", 80), ("convolution", 89)]


def cases():
    """Returns the cases of this file, with the architecture in their names."""
    found = {case.name: case for module in (kernels_basic, kernels_matmul, kernels_attention) for case in module.cases()}
    return [dataclasses.replace(found[name], name=f"{name}_sm{arch}", group="older", arch=arch) for name, arch in CASES]
