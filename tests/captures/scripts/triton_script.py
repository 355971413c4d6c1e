#!/usr/bin/env python3
"""Kernels written in Triton, called from PyTorch, and checked against PyTorch on the CPU. Prints "ok".

Only the kernels below run on the GPU: inputs are made on the CPU and copied.
"""
import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add_kernel(x, y, out, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + offsets, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=mask, other=0.0)
    centred = tl.where(mask, values - tl.sum(values, axis=0) / columns, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    result = centred * scale * tl.load(weight + offsets, mask=mask) + tl.load(bias + offsets, mask=mask)
    tl.store(out + row * columns + offsets, result, mask=mask)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :], mask=(rows < M)[:, None] & (k + ks < K)[None, :], other=0.0)
        right = tl.load(b + (k + ks)[:, None] * N + columns[None, :], mask=(k + ks < K)[:, None] & (columns < N)[None, :],
                        other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def host_descriptor_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def device_descriptor_kernel(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(out, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    target.store([row, column], source.load([row, column]) * 2.0 + 1.0)


def expect(name, result, expected, rtol, atol):
    """Ends the program if a result differs from PyTorch's."""
    if not torch.allclose(result.cpu().float(), expected.float(), rtol=rtol, atol=atol):
        print(f"{name}: largest difference {(result.cpu().float() - expected.float()).abs().max().item()}")
        sys.exit(1)


def check_rows():
    """Addition, softmax and layer norm."""
    x, y = torch.randn(5000), torch.randn(5000)
    device_x, device_y = x.cuda(), y.cuda()
    out = torch.empty_like(device_x)
    add_kernel[(triton.cdiv(5000, 1024),)](device_x, device_y, out, 5000, BLOCK=1024)
    expect("add", out, x + y, 0, 0)
    x = torch.randn(60, 200)
    device_x = x.cuda()
    out = torch.empty_like(device_x)
    softmax_kernel[(60,)](device_x, out, device_x.stride(0), 200, BLOCK=256)
    expect("softmax", out, torch.softmax(x, dim=1), 1e-4, 1e-6)
    weight, bias = torch.randn(200), torch.randn(200)
    layer_norm_kernel[(60,)](device_x, weight.cuda(), bias.cuda(), out, 200, 1e-5, BLOCK=256)
    expect("layer norm", out, torch.nn.functional.layer_norm(x, (200,), weight, bias, 1e-5), 1e-4, 1e-4)


def check_products():
    """Matrix products with pointers and with tensor descriptors."""
    a, b = torch.randn(200, 96).half(), torch.randn(96, 136).half()
    c = torch.empty(200, 136, dtype=torch.float16, device="cuda")
    matmul_kernel[(triton.cdiv(200, 64), triton.cdiv(136, 64))](a.cuda(), b.cuda(), c, 200, 136, 96, BM=64, BN=64, BK=32)
    expect("matmul", c, a.float() @ b.float(), 1e-2, 2e-2)
    a, b = torch.randn(128, 128).half(), torch.randn(128, 128).half()
    c = torch.empty(128, 128, dtype=torch.float16, device="cuda")
    descriptors = [TensorDescriptor.from_tensor(tensor, shape)
                   for tensor, shape in ((a.cuda(), [64, 32]), (b.cuda(), [32, 64]), (c, [64, 64]))]
    host_descriptor_kernel[(2, 2)](*descriptors, 128, BM=64, BN=64, BK=32)
    expect("matmul with descriptors", c, a.float() @ b.float(), 1e-2, 2e-2)


def check_device_descriptors():
    """Tensor descriptors that the kernel creates, in memory that Triton asks the program for."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x = torch.randn(100, 96)
    device_x = x.cuda()
    out = torch.empty_like(device_x)
    device_descriptor_kernel[(triton.cdiv(100, 32), 3)](device_x, out, 100, 96, BM=32, BN=32)
    expect("descriptors in the kernel", out, x * 2 + 1, 1e-6, 1e-6)


def main():
    torch.manual_seed(1)
    check_rows()
    check_products()
    check_device_descriptors()
    torch.cuda.synchronize()
    print("ok")


if __name__ == "__main__":
    main()
