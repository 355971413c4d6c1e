"""An imitation of the parts of Triton 3.6 and PyTorch that fathom.triton uses.

Kernels are not compiled: a kernel named NAME gets the PTX that Triton compiled for NAME on an H200,
from tests/modern/triton. A launch does what the Python function does with its arguments, so that a
test can see that the kernel ran, and when. install() puts the modules in place, remove() takes them
away.
"""
import ctypes
import inspect
import pathlib
import sys
import types

MODERN = pathlib.Path(__file__).resolve().parents[1] / "modern" / "triton"
MODULES = ["triton", "triton.backends", "triton.backends.compiler", "triton.compiler",
           "triton.runtime"]
FORMATS = {"float32": ctypes.c_float, "float16": ctypes.c_uint16, "int32": ctypes.c_int32,
           "int64": ctypes.c_int64, "uint8": ctypes.c_uint8}


class Storage:
    """What torch.UntypedStorage offers. cpu() returns a copy, as for memory of a GPU."""

    def __init__(self, size_bytes):
        self.data = (ctypes.c_char * size_bytes)()

    def data_ptr(self):
        return ctypes.addressof(self.data) if len(self.data) else 0

    def nbytes(self):
        return len(self.data)

    def clone(self):
        copy = Storage(len(self.data))
        ctypes.memmove(copy.data, self.data, len(self.data))
        return copy

    def cpu(self):
        return self.clone()


class HostStorage(Storage):
    """A storage in the memory of the host, such as pinned memory: cpu() does not copy it."""

    def cpu(self):
        return self


class Tensor:
    """A tensor with the elements [first, first + count) of a storage."""

    def __init__(self, values, dtype, storage=None, first=0, shape=None):
        self.dtype = "torch." + dtype
        self.element = FORMATS[dtype]
        size = ctypes.sizeof(self.element)
        self.storage = storage or Storage(len(values) * size)
        self.offset = first * size
        self.shape = shape or [len(values)]
        self.values = (self.element * len(values)).from_buffer(self.storage.data, self.offset)
        self.values[:] = values

    def untyped_storage(self):
        return self.storage

    def data_ptr(self):
        return self.storage.data_ptr() + self.offset


class Descriptor:
    """triton.tools.tensor_descriptor.TensorDescriptor"""

    def __init__(self, base, shape, strides, block_shape, padding="zero"):
        self.base, self.shape, self.strides = base, shape, strides
        self.block_shape, self.padding = block_shape, padding


class GPUTarget:
    def __init__(self, backend, arch, warp_size):
        self.backend, self.arch, self.warp_size = backend, arch, warp_size


class ASTSource:
    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.signature = fn, signature
        self.constants, self.attrs = constexprs, attrs


class CompiledKernel:
    def __init__(self, src, options):
        fn = src.fn.fn
        self.src = src
        self.asm = {"ptx": (MODERN / fn.ptx).read_text(encoding="utf-8")} if fn.ptx else {}
        metadata = {"name": fn.__name__, "num_warps": 4, "num_ctas": 1, "shared": 0,
                    "global_scratch_size": 0, "profile_scratch_size": 0, "tensordesc_meta": None}
        self.metadata = types.SimpleNamespace(**{**metadata, **fn.metadata, **options})


class Parameter:
    """triton.runtime.jit.KernelParam"""

    def __init__(self, parameter):
        self.name = parameter.name
        self.is_constexpr = parameter.annotation == "constexpr"
        self.annotation_type = "" if self.is_constexpr or parameter.annotation is inspect.Parameter.empty else (
            parameter.annotation)
        self.do_not_specialize = self.do_not_specialize_on_alignment = self.is_const = False


class JITFunction:
    def __init__(self, fn):
        self.fn = fn
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self.params = [Parameter(p) for p in inspect.signature(fn).parameters.values()]
        self.arg_names = [p.name for p in self.params]
        self.runs = 0

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def signature(self, values):
        """Triton's own rules, for arguments of simple types."""
        kinds = {}
        for p in self.params:
            value = values[p.name]
            kinds[p.name] = kind(value) if not p.is_constexpr else "constexpr"
        return kinds

    def run(self, *args, grid, warmup, **kwargs):
        own = {key: value for key, value in kwargs.items() if key in self.arg_names}
        bound = inspect.signature(self.fn).bind(*args, **own)
        bound.apply_defaults()
        values = dict(bound.arguments)
        options = {key: value for key, value in kwargs.items() if key not in own}
        compiled = CompiledKernel(ASTSource(self, self.signature(values)), options)
        if not warmup:
            compiled.grid = grid(values) if callable(grid) else grid
            self.runs += 1
            self.fn(**values)
        return compiled


def kind(value):
    """The type of an argument in Triton's signature."""
    if value is None or value == 1 and isinstance(value, int) and not isinstance(value, bool):
        return "constexpr"
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, (int, float)):
        return "i32" if isinstance(value, int) else "fp32"
    if isinstance(value, tuple):
        return tuple(kind(part) for part in value)
    if isinstance(value, Descriptor):
        return f"tensordesc<fp16{value.block_shape}>"
    return {"torch.float32": "*fp32", "torch.float16": "*fp16", "torch.int32": "*i32", "torch.int64": "*i64",
            "torch.uint8": "*u8"}[value.dtype]


class Config:
    def __init__(self, kwargs, num_warps=4, pre_hook=None):
        self.kwargs, self.num_warps, self.pre_hook = kwargs, num_warps, pre_hook

    def all_kwargs(self):
        return {**self.kwargs, "num_warps": self.num_warps}


class Autotuner:
    """Launches with every configuration, then with the last one."""

    def __init__(self, fn, configs):
        self.fn, self.configs = fn, configs

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args, **kwargs):
        for config in self.configs:
            self.fn.run(*args, **kwargs, **config.all_kwargs())
        return self.fn.run(*args, **kwargs, **self.configs[-1].all_kwargs())


class Heuristics:
    def __init__(self, fn, values):
        self.fn, self.values, self.arg_names = fn, values, fn.arg_names

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args, **kwargs):
        for name, rule in self.values.items():
            kwargs[name] = rule({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, **kwargs)


class Interpreted:
    """The kernel with TRITON_INTERPRET=1: nothing is compiled."""

    def __init__(self, fn):
        self.fn = fn

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        grid(kwargs)
        self.fn(*args, **kwargs)


def jit(ptx, **metadata):
    """A decorator such as triton.jit. `ptx` is the PTX of the kernel, a path below tests/modern/triton."""
    def decorate(fn):
        fn.ptx, fn.metadata = ptx, metadata
        return JITFunction(fn)
    return decorate


class Driver:
    """triton.runtime.driver.active"""

    gpu = True

    def get_current_device(self):
        if not self.gpu:
            raise RuntimeError("0 active drivers ([]). There should only be one.")
        return 0


def install(gpu):
    """Makes 'import triton' find this imitation. Returns the list of calls of triton.compile."""
    modules = {name: types.ModuleType(name) for name in MODULES}
    calls = []

    def compile_source(src, target=None, options=None):
        calls.append((src, target, options))
        return CompiledKernel(src, options)

    driver = Driver()
    driver.gpu = gpu
    modules["triton"].compile = compile_source
    modules["triton"].runtime = modules["triton.runtime"]
    modules["triton.runtime"].driver = types.SimpleNamespace(active=driver)
    modules["triton.compiler"].ASTSource = ASTSource
    modules["triton.backends.compiler"].GPUTarget = GPUTarget
    sys.modules.update(modules)
    return calls


def remove():
    """Undoes install()."""
    for name in MODULES:
        sys.modules.pop(name, None)
