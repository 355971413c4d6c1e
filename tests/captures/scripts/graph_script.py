#!/usr/bin/env python3
"""A function compiled with torch.compile(mode="reduce-overhead"), which replays its kernels as a CUDA graph, compared with the same on
the CPU. Prints "ok".

The first calls compile the function and record the graph; the later ones launch it with new data in the same memory.
"""
import os
import sys

# Compile in this process, not in workers.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

# pylint: disable=wrong-import-position
import torch


def function(x, weight):
    """Three kernels: a softmax, a normalization along the other dimension, and a sum."""
    a = torch.softmax(x * weight, dim=1)
    b = (a - a.mean(dim=0, keepdim=True)) * torch.rsqrt(a.var(dim=0, keepdim=True) + 1e-3)
    return b, torch.nn.functional.gelu(b).sum(dim=1)


def main():
    torch.manual_seed(3)
    compiled = torch.compile(function, mode="reduce-overhead")
    weight = torch.rand(200)
    on_gpu = weight.cuda()
    for call in range(6):
        x = torch.randn(96, 200)
        result = [part.clone() for part in compiled(x.cuda(), on_gpu)]
        for number, (a, b) in enumerate(zip(result, function(x, weight))):
            if not torch.allclose(a.cpu(), b, rtol=1e-3, atol=1e-4):
                print(f"call {call}, result {number}: largest difference {(a.cpu() - b).abs().max().item()}")
                sys.exit(1)
    print("ok")


if __name__ == "__main__":
    main()
