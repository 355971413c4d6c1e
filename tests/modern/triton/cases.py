"""What a Triton case consists of, and how its input is computed.

The launch file and this program evaluate the same expressions of the index i, so that both have the same input without storing it.
All values of `noise` have at most 23 significant bits and are therefore exact in f32: conversions to narrower types round once,
whether they start from f32 or f64.
"""
import dataclasses
import math

import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn,
          "e5m2": torch.float8_e5m2, "i32": torch.int32, "i64": torch.int64, "i8": torch.int8, "u8": torch.uint8}


@dataclasses.dataclass
class Buffer:
    """A buffer of the launch file. Without contents it has zeros."""
    type: str
    shape: tuple
    contents: str = ""

    @property
    def count(self):
        return math.prod(self.shape)

    def text(self):
        """Returns the description in a launch file."""
        return f"{self.type}[{self.count}]" + (f"={self.contents}" if self.contents else "")

    def tensor(self, device):
        """Returns a tensor with these contents."""
        if not self.contents:
            return torch.zeros(self.shape, dtype=torch.float32, device=device).to(DTYPES[self.type])
        code = compile(self.contents, "contents", "eval")
        names = {"floor": math.floor, "sin": math.sin, "cos": math.cos, "exp": math.exp, "sqrt": math.sqrt, "min": min, "max": max}
        values = [float(eval(code, names, {"i": float(i)})) for i in range(self.count)]  # pylint: disable=eval-used
        return torch.tensor(values, dtype=torch.float64).to(DTYPES[self.type]).reshape(self.shape).to(device)


def buffer(kind, shape, contents=""):
    """Returns a buffer."""
    return Buffer(kind, shape, contents)


def noise(step):
    """Returns an expression whose values look random, between -1 and 1. Each step gives another sequence."""
    return f"floor(sin(i*i*{step})*4194304)/4194304"


@dataclasses.dataclass
class Descriptor:
    """A tensor descriptor that the host makes of a buffer and passes to the kernel."""
    buffer: str
    shape: list
    block: list


@dataclasses.dataclass
class Case:
    """One launch of one kernel.

    group: folder of the case, which has at most ten
    arguments: names of buffers, numbers and Descriptors, in the order of the parameters that are not constexpr
    outputs: name of a buffer -> function of all tensors that returns the result computed by PyTorch, or None where there is none
    tolerance: of the comparison with PyTorch, relative to the largest value
    arch: compute capability for which Triton compiles, such as 80; 0: that of the GPU. Code for another one is not launched here.
    """
    name: str
    group: str
    kernel: object
    grid: tuple
    buffers: dict
    arguments: list
    constants: dict
    outputs: dict
    options: dict = dataclasses.field(default_factory=dict)
    tolerance: float = 1e-2
    arch: int = 0
