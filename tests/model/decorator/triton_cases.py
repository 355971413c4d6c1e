"""Triton kernels for the comparison of predictions with counters, and the launches of them.

Each case is a function of a device ("cuda" or "cpu") that returns a Launch. Inputs are made on the
CPU from a fixed seed and copied, so that all processes have the same ones and only the kernels below
run on the GPU.
"""
import dataclasses
from typing import Any, Callable, Dict, Tuple

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@dataclasses.dataclass
class Launch:
    """A launch: the kernel, its grid and arguments, its result, and the expected result on the CPU."""
    kernel: Any
    grid: Any
    args: Tuple
    kwargs: Dict[str, Any]
    result: torch.Tensor
    expected: Callable[[], torch.Tensor]
    tolerance: float = 1e-5


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def softmax_rows(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + offsets, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def layer_norm_rows(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        centred = tl.where(mask, tl.load(x + row * columns + offsets, mask=mask, other=0.0).to(tl.float32) - mean, 0.0)
        squares += centred * centred
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        values = (tl.load(x + row * columns + offsets, mask=mask).to(tl.float32) - mean) * scale
        values = values * tl.load(weight + offsets, mask=mask) + tl.load(bias + offsets, mask=mask)
        tl.store(out + row * columns + offsets, values, mask=mask)


@triton.jit
def gather_random(table, index, out, count, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    mask = rows < count
    chosen = tl.load(index + rows, mask=mask, other=0)
    values = tl.load(table + chosen[:, None] * WIDTH + columns[None, :], mask=mask[:, None])
    tl.store(out + rows[:, None] * WIDTH + columns[None, :], values, mask=mask[:, None])


@triton.jit
def transpose_copy(x, out, rows, columns, TILE: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    values = tl.load(x + r[:, None] * columns + c[None, :], mask=mask)
    tl.store(out + c[None, :] * rows + r[:, None], values, mask=mask)


@triton.jit
def matmul_pointers(a, b, c, M, N, K, stride_k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :] * stride_k)
        right = tl.load(b + (k + ks)[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16),
             mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def matmul_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def axpy_pair(pair, out, n, alpha, negate, unused, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = alpha * tl.load(pair[0] + offsets, mask=mask) + tl.load(pair[1] + offsets, mask=mask)
    if negate:
        values = -values
    tl.store(out + offsets, values, mask=mask)


@triton.autotune(configs=[triton.Config({"BLOCK": 512}, num_warps=4), triton.Config({"BLOCK": 2048}, num_warps=8)], key=["n"])
@triton.jit
def scale_tuned(x, out, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * factor, mask=mask)


def case_vector_add(device):
    n = 5_000_000
    x, y = torch.randn(n), torch.randn(n)
    out = torch.zeros(n).to(device)
    return Launch(vector_add, lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),), (x.to(device), y.to(device), out, n),
                  {"BLOCK": 1024}, out, lambda: x + y, 0)


def case_softmax_rows(device):
    x = torch.randn(4000, 1500)
    out = torch.zeros(4000, 1500).to(device)
    return Launch(softmax_rows, (4000,), (x.to(device), out, 1500, 1500), {"BLOCK": 2048, "num_warps": 8}, out,
                  lambda: torch.softmax(x, dim=1))


def case_layer_norm_rows(device):
    x, weight, bias = torch.randn(3000, 3000).half(), torch.randn(3000), torch.randn(3000)
    out = torch.zeros(3000, 3000).half().to(device)
    return Launch(layer_norm_rows, (3000,), (x.to(device), weight.to(device), bias.to(device), out, 3000, 1e-5),
                  {"BLOCK": 1024}, out, lambda: torch.nn.functional.layer_norm(x.float(), (3000,), weight, bias, 1e-5), 2e-2)


def case_gather_random(device):
    table, index = torch.randn(400_000, 32), torch.randint(0, 400_000, (300_000,))
    out = torch.zeros(300_000, 32).to(device)
    return Launch(gather_random, (triton.cdiv(300_000, 32),), (table.to(device), index.to(device), out, 300_000),
                  {"ROWS": 32, "WIDTH": 32}, out, lambda: table[index], 0)


def case_transpose_copy(device):
    x = torch.randn(2000, 3000)
    out = torch.zeros(3000, 2000).to(device)
    return Launch(transpose_copy, (triton.cdiv(2000, 64), triton.cdiv(3000, 64)), (x.to(device), out, 2000, 3000),
                  {"TILE": 64}, out, x.t, 0)


def product_data(device):
    a, b = torch.randn(1024, 768).half(), torch.randn(768, 1280).half()
    return a, b, torch.zeros(1024, 1280).half().to(device)


def case_matmul_pointers(device):
    a, b, c = product_data(device)
    return Launch(matmul_pointers, (8, 10), (a.to(device), b.to(device), c, 1024, 1280, 768, 1),
                  {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3}, c, lambda: a.float() @ b.float(), 0.2)


def case_matmul_descriptors(device):
    a, b, c = product_data(device)
    maps = [TensorDescriptor.from_tensor(tensor, shape)
            for tensor, shape in ((a.to(device), [128, 64]), (b.to(device), [64, 128]), (c, [128, 128]))]
    return Launch(matmul_descriptors, (8, 10), (*maps, 768), {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
                  c, lambda: a.float() @ b.float(), 0.2)


def case_axpy_pair(device):
    """Two views of one storage in a tuple, a float, a bool and None."""
    n = 1_500_000
    both = torch.randn(2 * n)
    moved = both.to(device)
    out = torch.zeros(n).to(device)
    return Launch(axpy_pair, (triton.cdiv(n, 1024),), ((moved[:n], moved[n:]), out, n, 0.5, True, None), {"BLOCK": 1024}, out,
                  lambda: -(0.5 * both[:n] + both[n:]), 1e-5)


def case_scale_tuned(device):
    """The autotuner chooses between two configurations."""
    n = 3_000_000
    x = torch.randn(n)
    out = torch.zeros(n).to(device)
    return Launch(scale_tuned, lambda meta: (triton.cdiv(n, meta["BLOCK"]),), (x.to(device), out, n, 3.0), {}, out,
                  lambda: x * 3.0, 0)


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def make(name, device):
    """Returns the launch of a case. The seed is the same for all cases and processes."""
    torch.manual_seed(12)
    return CASES[name](device)
