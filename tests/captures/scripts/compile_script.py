#!/usr/bin/env python3
"""A small network compiled with torch.compile, forward and backward, compared with the same on the CPU. Prints "ok".

The kernels that torch.compile generates are Triton's; the matrix products are cuBLAS's.
"""
import copy
import os
import sys

# Compile in this process, not in workers.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

# pylint: disable=wrong-import-position
import torch
from torch import nn


class Network(nn.Module):
    """Two layers with layer norm and GELU, a softmax, and the loss."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.norm = nn.LayerNorm(inputs)
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(hidden, outputs)

    def forward(self, x, target):
        result = torch.softmax(self.second(nn.functional.gelu(self.first(self.norm(x)))), dim=-1)
        return result, ((result - target) ** 2).sum()


def step(network, x, target):
    """Returns the result and the gradients of one step."""
    result, loss = network(x, target)
    loss.backward()
    return [result, loss] + [parameter.grad for parameter in network.parameters()]


def main():
    torch.manual_seed(2)
    network = Network(64, 96, 32)
    x, target = torch.randn(48, 64), torch.softmax(torch.randn(48, 32), dim=-1)
    on_gpu = copy.deepcopy(network).cuda()
    compiled = torch.compile(on_gpu)
    expected = step(network, x, target)
    result = step(compiled, x.cuda(), target.cuda())
    torch.cuda.synchronize()
    for number, (a, b) in enumerate(zip(result, expected)):
        if not torch.allclose(a.detach().cpu(), b.detach(), rtol=1e-3, atol=1e-4):
            print(f"result {number}: largest difference {(a.detach().cpu() - b.detach()).abs().max().item()}")
            sys.exit(1)
    print("ok")


if __name__ == "__main__":
    main()
