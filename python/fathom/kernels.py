"""Runs, traces and models kernels of PTX files, without a GPU or, for run(), on one.

    x = numpy.arange(1024, dtype=numpy.float32)
    fathom.run("scale.ptx", grid=4, block=256, args=[x, 2.0, len(x)])     # x has the results
    print(fathom.model("scale.ptx", grid=4, block=256, args=[x, 2.0, len(x)], gpu="h200").summary())
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_char, c_uint64
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union, overload

from . import descriptions
from . import _structs as c
from ._arguments import Input, Memory, Shape, check_options, option_names
from ._library import Handle, Invalid, Operation, PathText, ProgressFunction, call, create, encode, library, text
from .results import ModelResult

_COPY_ORDERS = ("late", "early", "random")


# ---- run ----


@dataclass
class RunResult:
    """The result of run()."""

    kernels: list[str]  #: The kernel of each launch, as in the PTX file.
    seconds: list[Optional[float]]  #: Time of each launch; None unless a real GPU ran it.
    warp_instructions: int  #: Executed instructions, once per warp; 0 if a device ran the kernels.
    thread_instructions: int  #: Executed instructions, once per active thread.
    output: str  #: What the kernels printed with printf in the PTX engine.
    buffers: dict[str, Any] = field(repr=False)  #: Buffers of a launch file, and variables: NumPy arrays, or bytes without NumPy.
    counters: list[dict[str, int]] = field(repr=False)  #: With counters=True: one dict per launch, by ncu's names of the metrics.
    verdicts: list[dict[str, Any]] = field(repr=False)  #: Comparisons with the results that the launch file expects.


_NUMPY_TYPES = {"f16": "float16", "f32": "float32", "f64": "float64"}


def _to_array(kind: str, data: Any) -> Any:
    """Returns the contents of a buffer as a NumPy array, or as bytes where NumPy is missing."""
    try:
        import numpy
    except ImportError:
        return bytes(data)
    name = _NUMPY_TYPES.get(kind)
    if name is None and kind[0] in "su":
        name = f"{'uint' if kind[0] == 'u' else 'int'}{kind[1:]}"
    # bf16 and the 8-bit floats have no type in NumPy: their bits are returned.
    return numpy.frombuffer(data, dtype=name or ("uint16" if kind == "bf16" else "uint8")).copy()


def _differs(memory: Memory, data: Any, memories: list[Optional[Memory]]) -> bool:
    """Returns whether a kernel changed a read-only array, apart from what it shares with arrays that are not."""
    expected = bytearray(ctypes.string_at(memory.address, len(data)))
    found: bytes = data.raw
    for other in memories:
        if other is not None and other.writable:
            first = min(max(other.address - memory.address, 0), len(expected))
            end = min(max(other.address + other.bytes - memory.address, first), len(expected))
            expected[first:end] = found[first:end]
    return expected != found


def _read_buffers(launch: Handle, memories: list[Optional[Memory]]) -> dict[str, Any]:
    """Copies the results to the arrays of the caller, and returns the buffers that have names."""
    named: dict[str, Any] = {}
    results = []
    for index in range(library().fth_launch_buffer_count(launch)):
        view = c.fth_launch_view()
        call("fth_launch_copy", launch, index, byref(view), None, 0)
        memory = memories[view.number - 1] if view.number else None
        size = view.count * view.element_bytes
        if memory is not None and memory.writable:
            results.append((index, memory.address, size))
            continue
        data = (c_char * size)()
        call("fth_launch_copy", launch, index, byref(view), data, size)
        if memory is not None and _differs(memory, data, memories):
            raise Invalid("the kernel wrote to the array, which is read-only", "read argument", str(view.number))
        if view.name:
            named[text(view.name)] = _to_array(text(view.type), data)
    for index, address, size in results:  # after the checks of all read-only arrays
        call("fth_launch_copy", launch, index, byref(c.fth_launch_view()), address, size)
    return named


def _read_counters(launch: Handle) -> list[dict[str, int]]:
    names: list[str] = []
    while (name := library().fth_counter_name(len(names))) is not None:
        names.append(text(name))
    found = []
    for step in range(library().fth_launch_step_count(launch)):
        counts = {}
        for index, name in enumerate(names):
            value = c_uint64()
            call("fth_launch_counter", launch, step, index, byref(value))
            counts[name] = value.value
        found.append(counts)
    return found


def _read_verdicts(launch: Handle) -> list[dict[str, Any]]:
    found = []
    for index in range(library().fth_launch_expectation_count(launch)):
        verdict = c.fth_verdict()
        call("fth_launch_verify", launch, index, byref(verdict))
        found.append({"buffer": text(verdict.buffer), "matches": verdict.matches, "found": text(verdict.text)})
    return found


def run(
    ptx: PathText,
    kernel: Optional[str] = None,
    *,
    grid: Optional[Shape] = None,
    block: Optional[Shape] = None,
    args: Optional[Sequence[Any]] = None,
    shared_bytes: int = 0,
    cluster: Optional[Shape] = None,
    sizes: Optional[Mapping[str, Any]] = None,
    variables: Optional[Mapping[str, str]] = None,
    seed: Optional[int] = None,
    device: Optional[str] = None,
    counters: bool = False,
    check_async: bool = False,
    check_races: bool = False,
    copy_order: str = "late",
    copy_seed: int = 1,
    threads: int = 0,
    max_instructions: int = 0,
    max_seconds: float = 0.0,
    allow_files: bool = False,
) -> RunResult:
    """Runs a kernel in fathom's PTX engine, which needs no GPU, or on a device.

    ptx: the path of a PTX file, of a program or fat binary with PTX, or of a launch file; or PTX as a text.
    kernel: selects a kernel if the file has several: its name in the PTX, its C++ name, or a beginning of these.
    grid, block, cluster: an int or up to three; by default one block of 32 threads without clusters.
    args: the arguments of the kernel, in order:
        - int and float: numbers of the type that the parameter has, if the PTX states it,
        - scalars of NumPy: numbers of their own type,
        - arrays of NumPy, CPU tensors of PyTorch, array.array, bytearray: buffers with the contents of the array.
          After the run, the arrays have the results. Arrays that share memory share a buffer.
        - None: a null pointer; bytes and ctypes structures: the bytes of a struct; numbers of ctypes: their bytes,
        - texts as 'fathom run --arg' takes them, such as "i32:5", "ptr:f32[64]=random" or "{i32:1,f32:2}".
    sizes: named sizes of a launch file, such as {"N": 256}.
    variables: contents of __constant__ and __device__ variables, such as {"table": "f32[64]=random"}.
    device: "cuda:0" or "sim:h200"; None is the PTX engine.
    counters: also count what a GPU's counters would count.
    check_async, check_races: fail if a wait or a barrier is missing; the logger "fathom" gets what was found.
    """
    operation = Operation()
    printed: list[bytes] = []
    if copy_order not in _COPY_ORDERS:
        raise Invalid(f"expected one of {', '.join(_COPY_ORDERS)}", "copy_order", copy_order)
    report = c.Print(lambda _, characters, size: printed.append(ctypes.string_at(characters, size)))
    options = c.options(
        c.fth_run_options,
        threads=threads,
        log=operation.log,
        device=encode(device),
        max_instructions=max_instructions,
        max_seconds=max_seconds,
        print=report,
        copy_order=_COPY_ORDERS.index(copy_order),
        copy_seed=copy_seed if copy_order == "random" else 0,
        check_async=check_async,
        counts=counters,
        check_races=check_races,
    )

    def execute(source: Input) -> RunResult:
        totals = c.fth_launch_totals()
        with create("fth_launch_open", "fth_launch_destroy", source.path, byref(source.options)) as launch:
            call("fth_launch_run", launch, byref(options), byref(totals))
            steps = range(library().fth_launch_step_count(launch))
            seconds = [library().fth_launch_seconds(launch, step) for step in steps]
            return RunResult(
                kernels=[text(library().fth_launch_kernel(launch, step)) for step in steps],
                seconds=[None if math.isnan(value) else value for value in seconds],
                warp_instructions=totals.warp_instructions,
                thread_instructions=totals.thread_instructions,
                output=text(b"".join(printed)),
                buffers=_read_buffers(launch, source.memories),
                counters=_read_counters(launch) if counters and not device else [],
                verdicts=_read_verdicts(launch),
            )

    with Input(
        ptx,
        kernel,
        grid=grid,
        block=block,
        args=args,
        shared_bytes=shared_bytes,
        cluster=cluster,
        sizes=sizes,
        variables=variables,
        seed=seed,
        allow_files=allow_files,
    ) as source:
        return operation.run(lambda: execute(source))


# ---- trace ----

_KINDS = ("read", "write", "atomic")


class Trace:
    """A trace: every access of kernels to global memory. Use it as a context manager, or call close()."""

    def __init__(self, handle: Optional[Handle], path: Optional[str] = None) -> None:
        self._handle = handle
        self.path = path  #: The file of the trace; None: a temporary file without a name.

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the trace; a temporary one disappears. Results of model() that use it keep it open."""
        self._handle = None

    def _opened(self) -> Handle:
        if self._handle is None:
            raise Invalid("the trace is closed, or was written to a pipe", "read trace", self.path or "")
        return self._handle

    @property
    def bytes(self) -> int:
        """The size of the file in bytes."""
        return int(library().fth_trace_bytes(self._opened()))

    def launches(self) -> list[dict[str, Any]]:
        """Returns one dict per launch: kernel, grid, block, and counts of warp accesses."""
        found = []
        for index in range(library().fth_trace_launch_count(self._opened())):
            launch = library().fth_trace_launch_at(self._opened(), index).contents
            row = {name: getattr(launch, name) for name, _ in launch._fields_}
            shared = None if launch.shared_bytes == 2**64 - 1 else launch.shared_bytes
            row.update(kernel=text(launch.kernel), grid=tuple(launch.grid), block=tuple(launch.block), shared_bytes=shared)
            found.append(row)
        return found

    def records(self) -> list[dict[str, Any]]:
        """Returns the totals of each kernel, each followed by its instructions, for pandas.DataFrame.

        The row of a kernel has the line None. Counts have one column per kind of access: requests_read,
        requests_write, requests_atomic.
        """
        operation = Operation()
        handle = self._opened()
        stats = operation.run(
            lambda: create("fth_trace_stats_create", "fth_trace_stats_destroy", handle, operation.log)
        )
        rows: list[dict[str, Any]] = []
        with stats:
            while row := library().fth_trace_stats_row(stats, len(rows)):
                rows.append(self._row(row.contents))
        return rows

    @staticmethod
    def _row(row: Any) -> dict[str, Any]:
        instruction = row.instruction.contents if row.instruction else None
        found: dict[str, Any] = {
            "kernel": text(row.kernel),
            "line": instruction.line if instruction else None,
            "source_line": (instruction.source_line or None) if instruction else None,
            "kind": text(library().fth_trace_kind_name(row.instruction)) if instruction else None,
        }
        for name, _ in row._fields_[2:]:
            value = getattr(row, name)
            if isinstance(value, int):
                found[name] = value
            else:
                found.update({f"{name}_{kind}": count for kind, count in zip(_KINDS, value)})
        return found

    def accesses(self, launch: int = 0, first: int = 0, last: Optional[int] = None) -> Iterator[dict[str, Any]]:
        """Yields the warp accesses of a launch, of the blocks first to last, as dicts."""
        handle = self._opened()
        end = 2**64 - 1 if last is None else last
        with create("fth_trace_cursor_open", "fth_trace_cursor_close", handle, launch, first, end) as cursor:
            access = ctypes.POINTER(c.fth_trace_access)()
            while True:
                call("fth_trace_next", cursor, byref(access))
                if not access:
                    return
                one = access.contents
                instruction = library().fth_trace_instruction_at(self._opened(), one.instruction).contents
                yield {
                    "number": one.number,
                    "block": one.block,
                    "warp": one.warp,
                    "line": instruction.line,
                    "kind": _KINDS[instruction.kind],
                    "bytes": instruction.bytes,
                    "mask": one.mask,
                    "addresses": list(one.addresses[: one.threads]),
                }


def _obtain(source: Input, operation: Operation, output: Optional[PathText], threads: int, limit: int) -> Handle:
    options = c.options(
        c.fth_trace_options,
        launch=ctypes.pointer(source.options),
        output=encode(output),
        threads=threads,
        log=operation.log,
        max_instructions=limit,
    )
    return create("fth_trace_obtain", "fth_trace_close", source.path, byref(options))


def trace(
    ptx: PathText,
    kernel: Optional[str] = None,
    *,
    output: Optional[PathText] = None,
    grid: Optional[Shape] = None,
    block: Optional[Shape] = None,
    args: Optional[Sequence[Any]] = None,
    shared_bytes: int = 0,
    cluster: Optional[Shape] = None,
    sizes: Optional[Mapping[str, Any]] = None,
    variables: Optional[Mapping[str, str]] = None,
    seed: Optional[int] = None,
    kernels: Optional[str] = None,
    launches: Optional[tuple[int, int]] = None,
    threads: int = 0,
    max_instructions: int = 0,
    allow_files: bool = False,
) -> Trace:
    """Traces the memory accesses of a kernel, as 'fathom trace' does.

    ptx: as in run(); also a trace, a capsule, or a trace of another tool.
    output: the file of the trace; None: a temporary file, which disappears with the result.
    grid, block, args, shared_bytes, cluster, sizes, variables, seed, allow_files: as in run().
    kernels, launches: of a capsule, only the kernels that a regular expression matches, and only the launches from
        the first number up to, but not including, the second one.

    Arrays are not changed: fathom computes only what the accesses depend on.
    """
    operation = Operation()
    with Input(
        ptx,
        kernel,
        grid=grid,
        block=block,
        args=args,
        shared_bytes=shared_bytes,
        cluster=cluster,
        sizes=sizes,
        variables=variables,
        seed=seed,
        allow_files=allow_files,
        kernels=kernels,
        launches=launches,
    ) as source:
        handle = operation.run(lambda: _obtain(source, operation, output, threads, max_instructions))
    return Trace(handle if handle.exists() else None, None if output is None else str(output))


# ---- model ----

Decorator = Callable[[Any], Any]


def _parameters(gpu: Any, settings: Mapping[str, Any], changes: Sequence[str], log: Any) -> Handle:
    """Makes the parameters of the model from a description and the settings of the caller."""
    if gpu is None or gpu == "generic":
        params = create("fth_model_params_create", "fth_model_params_destroy", None)
    else:
        with descriptions.gpu(gpu)._handle() as described:
            params = create("fth_model_params_create", "fth_model_params_destroy", described)
    pairs = [(name, str(value)) for name, value in settings.items()]
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise Invalid("expected an edit such as layout=all, or a parameter NAME=VALUE", "what_if", change)
        pairs.append((name, value))
    for name, value in pairs:
        call("fth_model_set", params, encode(name), encode(value))
    return params


def _edit(handle: Handle, edits: list[str], operation: Operation) -> Handle:
    """Applies edits of --what-if to a trace."""
    if not edits:
        return handle
    items = c.texts([encode(edit) or b"" for edit in edits])
    return create("fth_trace_edit", "fth_trace_close", handle, items, len(edits), operation.log)


def _model(
    source: Union[PathText, Trace],
    kernel: Optional[str],
    gpu: Any,
    *,
    set: Optional[Mapping[str, Any]] = None,
    what_if: Union[str, Sequence[str]] = (),
    hints: bool = False,
    orders: int = 0,
    sample: int = 0,
    l1_off: bool = False,
    curves: bool = False,
    threads: int = 0,
    max_instructions: int = 0,
    progress: Optional[ProgressFunction] = None,
    **launch: Any,
) -> ModelResult:
    known = option_names(Input)
    check_options("fathom.model()", (name for name in launch if name not in known), [*known, *option_names(_model)])
    operation = Operation(progress)
    changes = [what_if] if isinstance(what_if, str) else list(what_if)
    edits = [change for change in changes if library().fth_trace_edit_known(encode(change))]
    settings = [change for change in changes if change not in edits]
    options = c.options(
        c.fth_model_options,
        threads=threads,
        bypassed=l1_off,
        curves=curves,
        log=operation.log,
        orders=orders,
        sample=sample,
        diagnose=True,
    )
    if isinstance(source, Trace) and (kernel is not None or launch):
        raise Invalid("a trace has no options of a launch, such as kernel, grid and args", "model", source.path or "")

    def obtain() -> tuple[Handle, Optional[Input]]:
        if isinstance(source, Trace):
            return source._opened(), None
        given = Input(source, kernel, **launch)
        handle = _obtain(given, operation, None, threads, max_instructions)
        given.memories.clear()  # the trace does not need the arrays of the caller
        return handle, given

    def compute() -> ModelResult:
        params = _parameters(gpu, set or {}, settings, operation.log)
        handle, given = obtain()
        handle = _edit(handle, edits, operation)
        result = create("fth_model_run", "fth_model_result_destroy", handle, params, byref(options))
        made = ModelResult(handle, params, result, given, threads)
        if hints:
            made._find_hints(operation)
        return made

    return operation.run(compute)


@overload
def model(source: None = None, kernel: None = None, *, gpu: Any = "h200", **options: Any) -> Decorator: ...
@overload
def model(
    source: Union[PathText, Trace],
    kernel: Optional[str] = None,
    *,
    gpu: Any = "h200",
    grid: Optional[Shape] = None,
    block: Optional[Shape] = None,
    args: Optional[Sequence[Any]] = None,
    shared_bytes: int = 0,
    cluster: Optional[Shape] = None,
    sizes: Optional[Mapping[str, Any]] = None,
    variables: Optional[Mapping[str, str]] = None,
    seed: Optional[int] = None,
    kernels: Optional[str] = None,
    launches: Optional[tuple[int, int]] = None,
    allow_files: bool = False,
    set: Optional[Mapping[str, Any]] = None,
    what_if: Union[str, Sequence[str]] = (),
    hints: bool = False,
    orders: int = 0,
    sample: int = 0,
    l1_off: bool = False,
    curves: bool = False,
    threads: int = 0,
    max_instructions: int = 0,
    progress: Optional[ProgressFunction] = None,
) -> ModelResult: ...


def model(source: Any = None, kernel: Optional[str] = None, *, gpu: Any = "h200", **options: Any) -> Any:
    """Predicts cache hits, memory traffic and time of kernels on a GPU, as 'fathom model' does. No GPU is needed.

    source: as in trace(), or a Trace.
    gpu: a name of gpus(), the path of a description, a Description, or "generic".
    options:
        grid, block, args, shared_bytes, cluster, sizes, variables, seed, allow_files: as in run().
        kernels, launches: as in trace().
        set: parameters of the model, such as {"l1.size_bytes": "32K"}.
        what_if: changes of the accesses or of a parameter, such as "layout=all".
        hints: also find what to change in the kernels.
        orders: run the model this many times with different orders of blocks, and give ranges.
        sample: simulate only this part (1/sample) of long launches.
        l1_off: also model the L2 as if every access bypassed the L1.  curves: also compute curves of misses.
        threads: host threads; 0: one per core.  max_instructions: limit per warp.
        progress: called with the current step and the completed fraction.

    Without a source, returns a decorator for Triton kernels, with the options of fathom.triton.decorator:

        @fathom.model(gpu="h200")
        @triton.jit
        def kernel(...): ...
    """
    if source is None:
        from . import triton

        return triton.decorator(gpu=gpu, **options)
    if callable(source) or hasattr(source, "run"):
        raise TypeError('the decorator for Triton kernels needs parentheses, such as @fathom.model(gpu="h200")')
    return _model(source, kernel, gpu, **options)
