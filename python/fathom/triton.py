"""Models the launches of Triton kernels: the decorator behind `@fathom.model(gpu="h200")`.

    @fathom.model(gpu="h200")
    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        ...

    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)   # runs, then prints the model
    add.results[0].records()                                 # figures for pandas

The decorated kernel is launched as before. Before the launch, the contents of its tensors are copied
to host memory; afterwards, fathom takes the PTX, the grid and the arguments from the compiled kernel,
executes the PTX in its own engine and models the caches. Without a GPU, Triton only compiles the
kernel, and the arguments are NumPy arrays or tensors in host memory. See docs/python/triton.md.
"""
from __future__ import annotations

import functools
import inspect
import os
import re
import tempfile
import threading
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _arguments, _launchfile
from ._library import Error, Invalid, Unsupported

DEFAULT_MAX_BYTES = 4 << 30
"""Default limit of the memory of a launch that is copied to the host, in bytes."""

# Errors after which a launch runs but is not modelled. Nothing in the model may stop a launch.
_FAILURES = (Exception,)
# Results of a kernel that have all views. Older ones do not keep their trace, an open file.
_COMPLETE_RESULTS = 32


class ModelWarning(UserWarning):
    """A launch could not be modelled. The kernel itself has run; without a GPU, it was compiled."""


def decorator(gpu: Any = "h200", *, show: bool = True, launches: int = 1,
              save: Union[str, "os.PathLike[str]", None] = None, strict: bool = False,
              compile_only: bool = False, max_bytes: int = DEFAULT_MAX_BYTES,
              **options: Any) -> Callable[[Any], "ModelledKernel"]:
    """Returns a decorator that models the launches of a Triton kernel.

    gpu: the GPU to model, as in fathom.model()
    show: print the summary of each modelled launch
    launches: model this many launches, then only launch; None models all
    save: folder for the launch files; each launch gets a folder NAME-NUMBER in it, which
        `fathom model` reads. Default: a temporary folder that is deleted
    strict: raise an exception if a launch cannot be modelled, instead of a ModelWarning
    compile_only: compile and model, but do not launch the kernel, as on a machine without a GPU
    max_bytes: most bytes of tensors that are copied to host memory for a launch
    options: those of fathom.model() for the model itself, such as hints, sample and what_if
    """
    _check_options(options)

    def decorate(kernel: Any) -> ModelledKernel:
        if not hasattr(kernel, "run") or not hasattr(kernel, "__getitem__"):
            raise TypeError("fathom.model(gpu=...) without a source decorates a Triton kernel: "
                            "place it above @triton.jit")
        return ModelledKernel(kernel, gpu=gpu, show=show, launches=launches, save=save,
                              strict=strict, compile_only=compile_only, max_bytes=max_bytes,
                              options=options)
    return decorate


def _check_options(options: Dict[str, Any]) -> None:
    """Refuses options that the model does not have, before the first launch."""
    from . import kernels  # not at the top: kernels.model() imports this module
    _arguments.check_options("fathom.model() without a source", options,
                             _arguments.option_names(kernels._model)
                             + _arguments.option_names(decorator))


class ModelledKernel:
    """A Triton kernel whose launches are modelled. It is launched like the kernel, as
    `kernel[grid](arguments)`, with the same return value, and has the kernel's attributes."""

    results: List[Any]
    """The results of the modelled launches (fathom.ModelResult), the oldest first. The last 32 are
    complete; of older ones, only summary(), to_json() and what it contains are kept (release())."""

    def __init__(self, kernel: Any, *, gpu: Any, show: bool, launches: Optional[int],
                 save: Union[str, "os.PathLike[str]", None], strict: bool, compile_only: bool,
                 max_bytes: int, options: Dict[str, Any]) -> None:
        self.results = []
        self._kernel = kernel
        self._gpu = gpu
        self._show = show
        self._left = launches
        self._save = os.fspath(save) if save is not None else None
        self._strict = strict
        self._compile_only = compile_only
        self._max_bytes = max_bytes
        self._options = options
        self._count = 0
        self._lock = threading.Lock()
        for name in ("__doc__", "__module__", "__name__", "__qualname__"):
            if getattr(kernel, name, None) is not None:
                setattr(self, name, getattr(kernel, name))

    def __getattr__(self, name: str) -> Any:
        # Called for names that this object does not have: they are those of the kernel. The kernel
        # itself is missing only while the object is created or copied.
        if name == "_kernel":
            raise AttributeError(name)
        return getattr(self._kernel, name)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self.run, grid=grid, warmup=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._kernel(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<fathom model of {self._kernel!r} for {self._gpu}>"

    def model_next(self, count: Optional[int] = 1) -> None:
        """Models the next `count` launches; None: all from now on."""
        self._left = count

    def _take(self) -> bool:
        """Returns whether to model this launch, and counts it."""
        with self._lock:
            if self._left is None:
                return True
            if self._left <= 0:
                return False
            self._left -= 1
            return True

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches the kernel, as `kernel[grid](...)` does. `warmup` only compiles it."""
        if warmup:
            return self._kernel.run(*args, grid=grid, warmup=True, **kwargs)
        # Triton's interpreter launches without a GPU; its kernels are not compiled.
        interprets = not hasattr(innermost(self._kernel), "params")
        if self._compile_only or not interprets and (_has_arrays((args, kwargs)) or not has_gpu()):
            compiled, grid, values = compile_kernel(self._kernel, grid, args, kwargs,
                                                    architecture(self._gpu))
            if self._take():
                try:
                    self._model(compiled, grid, values, _launchfile.Memory(self._max_bytes))
                except _FAILURES as error:
                    self._complain(error, level=3)
            return compiled
        if _is_capturing() or not self._take():
            return self._kernel[grid](*args, **kwargs)
        return self._launch(grid, args, kwargs)

    def _launch(self, grid: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Launches the kernel on the GPU and models the launch."""
        memory: Optional[_launchfile.Memory] = None
        try:
            memory = _launchfile.Memory(self._max_bytes)
            memory.add((*args, *kwargs.values()))
        except _FAILURES as error:
            self._complain(error)
            memory = None
        seen: Dict[str, Any] = {}

        # Triton calls this with the values of all parameters, also those that it has from
        # defaults, heuristics and the autotuner. The autotuner launches its best choice last.
        def record(values: Dict[str, Any]) -> Any:
            seen["grid"] = grid(values) if callable(grid) else grid
            seen["values"] = dict(values)
            return seen["grid"]

        compiled = self._kernel[record](*args, **kwargs)
        if memory is not None:
            try:
                ready = compiled.result() if hasattr(compiled, "result") else compiled
                if not seen or "ptx" not in getattr(ready, "asm", ()):
                    raise Unsupported("this launch: Triton has not compiled PTX for it (its "
                                      "interpreter, or a GPU that is not NVIDIA's)")
                self._model(ready, seen["grid"], seen["values"], memory)
            except _FAILURES as error:
                self._complain(error)
        return compiled

    def _complain(self, error: Exception, level: int = 4) -> None:
        """Raises an error, or makes it a warning at the line of the launch: `level` counts the
        functions from this one to the one that launches."""
        if self._strict:
            raise error
        warnings.warn(f"fathom cannot model this launch of {self._name()}: {error}", ModelWarning,
                      stacklevel=level)

    def _name(self) -> str:
        """Returns the name of the Python function."""
        return getattr(innermost(self._kernel), "__name__", "a kernel")

    def _model(self, compiled: Any, grid: Any, values: Dict[str, Any],
               memory: _launchfile.Memory) -> None:
        """Models a launch, and keeps and prints the result."""
        from . import kernels  # not at the top: kernels.model() imports this module
        self._count += 1
        with tempfile.TemporaryDirectory(prefix="fathom-") as temporary:
            folder = temporary
            if self._save is not None:
                folder = os.path.join(self._save, f"{self._name()}-{self._count}")
                os.makedirs(folder, exist_ok=True)
            shape = [grid] if isinstance(grid, int) else list(grid)
            path = _launchfile.write(folder, compiled, shape, values, memory)
            result = kernels.model(path, gpu=self._gpu, **self._options)
        self.results.append(result)
        if len(self.results) > _COMPLETE_RESULTS:
            self.results[-_COMPLETE_RESULTS - 1].release()
        if self._show:
            gpu = getattr(self._gpu, "name", self._gpu)
            print(f"{self._name()}, grid {tuple(shape)}, launch {self._count}, on {gpu}:")
            print(result.summary().rstrip("\n"))


def has_gpu() -> bool:
    """Returns whether Triton finds a GPU on which it can launch kernels."""
    import triton
    try:
        triton.runtime.driver.active.get_current_device()
    except Exception:  # pylint: disable=broad-except
        # Triton raises RuntimeError if there is no driver; a broken installation of CUDA or PyTorch
        # raises other exceptions.
        return False
    return True


def _is_capturing() -> bool:
    """Returns whether a CUDA graph is being captured, which forbids copies to host memory."""
    try:
        import torch
        return bool(torch.cuda.is_current_stream_capturing())
    except Exception:  # pylint: disable=broad-except
        return False


def _has_arrays(value: Any) -> bool:
    """Returns whether there is a NumPy array among arguments; Triton cannot launch with these."""
    if isinstance(value, dict):
        return any(_has_arrays(part) for part in value.values())
    if isinstance(value, (tuple, list)):
        return any(_has_arrays(part) for part in value)
    return _launchfile.is_array(value)


def architecture(gpu: Any) -> int:
    """Returns the compute capability of a GPU that fathom knows, as Triton writes it: 90 for 9.0.
    Without a description (gpu="generic"), that of the H200."""
    if gpu is None or gpu == "generic":
        return 90
    from . import descriptions
    capability = descriptions.gpu(gpu).device.get("compute_capability")
    text = "" if capability is None else str(capability)
    if not re.fullmatch(r"\d+\.\d", text):
        raise Unsupported(f"the GPU {gpu}: Triton compiles PTX for GPUs of NVIDIA only")
    return int(text.replace(".", ""))


def innermost(kernel: Any) -> Any:
    """Returns the JITFunction below decorators such as triton.autotune and triton.heuristics."""
    while not hasattr(kernel, "params") or isinstance(kernel, ModelledKernel):
        inner = getattr(kernel, "_kernel", None) or getattr(kernel, "fn", None)
        if inner is None or inspect.isfunction(inner):
            break
        kernel = inner
    return kernel


def _resolve(kernel: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """Returns the JITFunction below the decorators of Triton, and the keyword arguments with those
    that the decorators add. Nothing can be timed without a GPU, so that of the configurations of
    triton.autotune, the first one counts."""
    jit = innermost(kernel)
    while kernel is not jit:
        if getattr(kernel, "configs", None):
            kwargs = {**kwargs, **kernel.configs[0].all_kwargs()}
            if getattr(kernel.configs[0], "pre_hook", None) is not None:
                kernel.configs[0].pre_hook({**dict(zip(jit.arg_names, args)), **kwargs})
        elif isinstance(getattr(kernel, "values", None), dict):
            for name, rule in kernel.values.items():
                kwargs[name] = rule({**dict(zip(jit.arg_names, args)), **kwargs})
        kernel = getattr(kernel, "_kernel", None) or kernel.fn
    return jit, kwargs


def compile_kernel(kernel: Any, grid: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any],
                   capability: int) -> Tuple[Any, Any, Dict[str, Any]]:
    """Compiles a kernel for a launch with these arguments, without a GPU. Returns the compiled
    kernel, the grid and the values of all parameters."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    jit, kwargs = _resolve(kernel, args, dict(kwargs))
    if not hasattr(jit, "params"):
        raise Unsupported("this kernel: it is no function of triton.jit (with TRITON_INTERPRET=1, "
                          "Triton compiles nothing)")
    if hasattr(jit, "is_gluon") and jit.is_gluon():
        raise Unsupported("this kernel: fathom cannot compile kernels of Gluon, only those that a "
                          "GPU launches")
    names = [parameter.name for parameter in jit.params]
    bound = inspect.signature(jit.fn).bind(*args, **{name: value for name, value in kwargs.items()
                                                     if name in names})
    bound.apply_defaults()
    values = dict(bound.arguments)
    options = {name: value for name, value in kwargs.items() if name not in names}
    signature: Dict[str, Any] = {}
    constants: Dict[Tuple[int, ...], Any] = {}
    attributes: Dict[Tuple[int, ...], Any] = {}
    for index, parameter in enumerate(jit.params):
        try:
            signature[parameter.name] = specialise(parameter, values[parameter.name], (index,),
                                                   constants, attributes)
        except Error as error:
            raise type(error)(error.cause, "read argument", parameter.name) from None
    shape = grid(values) if callable(grid) else grid
    source = ASTSource(fn=jit, signature=signature, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    return compiled, shape, values


def specialise(parameter: Any, value: Any, path: Tuple[int, ...],
               constants: Dict[Tuple[int, ...], Any], attributes: Dict[Tuple[int, ...], Any]) -> Any:
    """Returns the type of an argument in Triton's signature. Adds its value to `constants` if it is
    one: a constexpr, None, or the integer 1. Adds to `attributes` that it is a multiple of 16.

    The rules are those of Triton's own launch (triton/runtime/jit.py). A buffer counts as aligned
    if its offset in its storage is, because a GPU's allocator aligns storages to 256 bytes or more.
    """
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        value = value.value
        constants[path] = value
        return "constexpr"
    if getattr(parameter, "is_constexpr", False) or value is None or hasattr(value, "cache_key"):
        constants[path] = value
        return "constexpr"
    if isinstance(value, (tuple, list)):
        members = [specialise(None, member, (*path, index), constants, attributes)
                   for index, member in enumerate(value)]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    may_specialise = not getattr(parameter, "do_not_specialize", False)
    aligns = may_specialise and not getattr(parameter, "do_not_specialize_on_alignment", False)
    annotation = getattr(parameter, "annotation_type", "") or ""
    if _launchfile.is_descriptor(value):
        kind = _launchfile.element_type(value.base)
        return f"tensordesc<{kind}{[int(extent) for extent in value.block_shape]}>"
    if _launchfile.is_buffer(value):
        if aligns and _launchfile.offset_of(value) % 16 == 0:
            attributes[path] = [["tt.divisibility", 16]]
        const = "k" if getattr(parameter, "is_const", False) else ""
        return annotation or f"*{const}{_launchfile.element_type(value)}"
    return _specialise_number(value, path, annotation, may_specialise, aligns, constants, attributes)


def _specialise_number(value: Any, path: Tuple[int, ...], annotation: str, may_specialise: bool,
                       aligns: bool, constants: Dict[Tuple[int, ...], Any],
                       attributes: Dict[Tuple[int, ...], Any]) -> str:
    """Returns the type of a number, as specialise() does."""
    if isinstance(value, bool):
        return annotation or "u1"
    if isinstance(value, float):
        return annotation or "fp32"
    if not hasattr(value, "__index__"):
        raise Unsupported(f"Triton kernels cannot have arguments of type {type(value).__name__}")
    value = value.__index__()
    if annotation.startswith(("fp", "bf", "u1")):
        return annotation
    if value == 1 and may_specialise and not annotation:
        constants[path] = value
        return "constexpr"
    if aligns and value % 16 == 0:
        attributes[path] = [["tt.divisibility", 16]]
    if annotation:
        return annotation
    if -2**31 <= value < 2**31:
        return "i32"
    if not -2**63 <= value < 2**64:
        raise Invalid(f"the argument {value} does not fit into 64 bits")
    return "i64" if value < 2**63 else "u64"
