#!/usr/bin/env python3
"""Compiles and runs the Triton kernels of this folder on a GPU, and writes a test case for each.

usage: collect.py OUTPUT.tar.gz [NAME...]    without NAME: all cases

It needs Python 3.12, PyTorch 2.11, Triton 3.6 and a Hopper GPU. For each case the archive has, in the folder triton,

    GROUP/NAME.ptx            the PTX that Triton compiled, without debug sections and without folder names
    GROUP/NAME.json           the launch file
    GROUP/expected/NAME.OUT   the bytes of each output buffer after Triton's own launch, if the case is compiled for this GPU

and log.txt, which says for each case whether it compiled, whether its results agree with PyTorch, and what the kernel is like.
A case that fails does not stop the others; it is left out of the archive and its traceback is in the log. The exit code is 1 if
a case failed.
"""
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from cases import Descriptor

MODULES = ["kernels_basic", "kernels_matmul", "kernels_attention", "older"]
PROCESSES = 8  # cases at the same time; most of the time they compile
CASE_SECONDS = 150  # for a case, from its start to its results
SWIZZLES = [0, 32, 64, 128]  # bytes, by the number that the driver gives them


def strip(ptx):
    """Removes what depends on the machine: folders in the names of files, and debug sections except the strings that .loc uses."""
    ptx = re.sub(r"^\s*\.section\s+\.debug_(?!str\b)\w+\s*\{(?:\s*\}|.*?^\s*\})[ \t]*\n", "", ptx, flags=re.S | re.M)
    ptx = re.sub(r'^(\s*\.file\s+\d+\s+)"[^"]*"\s+"(?:[^"]*/)?([^"/]*)"', r'\1"\2"', ptx, flags=re.M)
    return re.sub(r'^(\s*\.file\s+\d+\s+)"[^"]*/([^"/]*)"', r'\1"\2"', ptx, flags=re.M)


def strip_lines(ptx):
    """Removes all information on source lines, for PTX that is not valid without its debug sections."""
    ptx = re.sub(r"^\s*\.section\s+\.debug_\w+\s*\{(?:\s*\}|.*?^\s*\})[ \t]*\n", "", ptx, flags=re.S | re.M)
    return re.sub(r"^\s*\.(loc|file)\b[^\n]*\n", "", ptx, flags=re.M)


def assembles(ptx):
    """Returns None if ptxas accepts the PTX, else its message."""
    tool = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "k.ptx"
        path.write_text(ptx, encoding="utf-8")
        done = subprocess.run([str(tool) if tool.exists() else "ptxas", "-arch=sm_90a", str(path), "-o", os.devnull],
                              capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr


def entry_of(ptx):
    """Returns the name of the kernel, its parameters as (bits, bytes of an array or None), and its number of threads."""
    match = re.search(r"\.entry\s+([\w$]+)\s*\((.*?)\)(.*?)\{", ptx, re.S)
    parameters = []
    for text in filter(None, (part.strip() for part in re.sub(r"//[^\n]*", "", match[2]).split(","))):
        array = re.search(r"\[(\d+)\]", text)
        bits = re.search(r"\.[a-z](8|16|32|64)\b", text)
        parameters.append((int(bits[1]), int(array[1]) if array else None))
    threads = re.search(r"\.reqntid\s+(\d+)", match[3])
    return match[1], parameters, int(threads[1]) if threads else None


def exact_f32(value):
    """Returns the f32 nearest to the value, as text that gives the same f32."""
    return repr(struct.unpack("f", struct.pack("f", value))[0])


def tensor_map(case, descriptor, meta):
    """Returns the argument of a launch file for a tensor map. Its dimensions are in the order of cuTensorMapEncodeTiled, and the L2
    promotion is the one that Triton uses."""
    box = list(meta["block_size"]) if meta else list(descriptor.block)
    kind = case.buffers[descriptor.buffer].type
    return {"tensormap": descriptor.buffer, "type": "u8" if kind in ("e4m3", "e5m2", "i8") else kind,
            "sizes": list(reversed(descriptor.shape)), "box": list(reversed(box)),
            "swizzle": SWIZZLES[int(meta["swizzle"])] if meta else 0, "l2_promotion": 128}


def argument_texts(case, kernel, signature, log):
    """Returns the arguments of the launch file without the scratch pointers. Arguments that Triton has made constants vanish:
    those that are constexpr, and integers that are 1 unless the signature says that they are still there."""
    names = [name for name in kernel.arg_names if name not in case.constants]
    metas = list(getattr(case.compiled.metadata, "tensordesc_meta", None) or [])
    texts = []
    for name, value in zip(names, case.arguments, strict=True):
        kind = signature.get(name) if signature else None
        if isinstance(value, Descriptor):
            texts.append(tensor_map(case, value, metas.pop(0) if metas else None))
            strides = [1]
            for extent in reversed(value.shape[1:]):
                strides.insert(0, strides[0] * extent)
            texts += [f"i32:{extent}" for extent in value.shape] + [f"i64:{stride}" for stride in strides]
        elif isinstance(value, str):
            texts.append(value)
        elif kind == "constexpr" or (kind is None and value == 1 and isinstance(value, int)):
            log(f"  {name} = {value} is a constant")
        elif isinstance(value, float):
            texts.append(f"f32:{exact_f32(value)}")
        else:
            texts.append(f"{kind if kind in ('i32', 'i64') else 'i32'}:{value}")
    return texts


def check_parameters(texts, parameters):
    """Checks the size of each argument against the parameters of the PTX."""
    for text, (bits, array) in zip(texts, parameters):
        if isinstance(text, dict):
            wanted = 1024
        elif ":" in text:
            wanted = int(re.sub(r"\D", "", text.split(":")[0]))
        else:
            wanted = 64
        if wanted != (array * 8 if array else bits):
            raise ValueError(f"argument {text} does not fit a parameter of {array * 8 if array else bits} bits")


def launch_file(case, ptx, log):
    """Returns the launch file of a compiled case as an object."""
    metadata = case.compiled.metadata
    name, parameters, threads = entry_of(ptx)
    signature = getattr(getattr(case.compiled, "src", None), "signature", None)
    texts = argument_texts(case, case.kernel, signature, log)
    buffers = {key: data.text() for key, data in case.buffers.items()}
    clusters = int(getattr(metadata, "num_ctas", 1))
    shape = list(getattr(metadata, "cluster_dims", None) or (clusters, 1, 1))
    grid = [int(extent) for extent in [*case.grid, 1, 1][:3]]
    if clusters > 1:
        grid = [extent * factor for extent, factor in zip(grid, shape)]
    programs = grid[0] * grid[1] * grid[2]
    for scratch in ("global_scratch", "profile_scratch")[:len(parameters) - len(texts)]:
        size = int(getattr(metadata, scratch + "_size", 0) or 0)
        if size:
            # A tensor map must be aligned to 64 bytes; buffers are aligned to 256.
            buffers[scratch] = f"u8[{size * programs}]"
        texts.append(scratch if size else "null")
    if len(texts) != len(parameters):
        raise ValueError(f"{len(texts)} arguments {texts} for {len(parameters)} parameters of {name}: signature {signature}")
    check_parameters(["x" if text == "null" else text for text in texts], parameters)
    block = threads or 32 * int(metadata.num_warps)
    entry_launch = {"kernel": name, "grid": grid, "block": block, "shared": int(metadata.shared), "args": texts}
    if clusters > 1:
        entry_launch["cluster"] = shape
    expect = []
    for key in case.outputs:
        entry = {"buffer": key, "file": f"expected/{case.name}.{key}.zst"}
        expect.append(entry)
    log(f"  grid {grid}, block {block}, shared {metadata.shared}, {len(ptx)} bytes of PTX, arguments {texts}")
    about = f"compiled by Triton {triton.__version__} from {case.kernel.__name__}, {case.options or 'default options'}"
    about += f", for sm_{case.arch}" if case.arch else ""
    return {"schema": "fathom-launch/1", "about": about, "ptx": f"{case.name}.ptx", "buffers": buffers, "launches": [entry_launch],
            "expect": expect}


def json_text(value):
    """Returns a launch file as text, with a line for each buffer, argument and expected result."""
    launch_text = ",\n     ".join(json.dumps(argument) for argument in value["launches"][0]["args"])
    head = json.dumps({key: part for key, part in value["launches"][0].items() if key != "args"})
    lines = [f'  "{key}": {json.dumps(value[key])},' for key in ("schema", "about", "ptx")]
    lines.append('  "buffers": {\n' + ",\n".join(f'    "{key}": "{text}"' for key, text in value["buffers"].items()) + "\n  },")
    lines.append(f'  "launches": [\n    {head[:-1]},\n     "args": [{launch_text}]}}\n  ],')
    lines.append('  "expect": [\n' + ",\n".join("    " + json.dumps(entry) for entry in value["expect"]) + "\n  ]")
    return "{\n" + "\n".join(lines) + "\n}\n"


def launch(case, tensors):
    """Compiles the kernel, launches it unless it is compiled for another generation, and returns the compiled kernel."""
    arguments = []
    for value in case.arguments:
        if isinstance(value, Descriptor):
            base = tensors[value.buffer].reshape(value.shape)
            arguments.append(TensorDescriptor(base, list(base.shape), list(base.stride()), list(value.block)))
        else:
            arguments.append(tensors[value] if isinstance(value, str) else value)
    if case.arch:
        # Machine code of another generation cannot be loaded, but the GPU's driver can compile its PTX.
        triton.knobs.runtime.override_arch = f"sm{case.arch}"
        return case.kernel.warmup(*arguments, grid=case.grid, **case.constants, **case.options)
    return case.kernel[case.grid](*arguments, **case.constants, **case.options)


def compare(case, tensors, log):
    """Compares the outputs with PyTorch."""
    for key, reference in case.outputs.items():
        if reference is None:
            continue
        wanted = reference(tensors).double().flatten()
        got = tensors[key].double().flatten()
        scale = max(wanted.abs().max().item(), 1e-30)
        worst = (wanted - got).abs().max().item()
        log(f"  {key}: largest difference {worst:.3g}, largest value {scale:.3g}")
        if not worst <= case.tolerance * scale:
            raise ValueError(f"{key} differs from PyTorch's result by {worst:.3g}; the tolerance is {case.tolerance * scale:.3g}")


def collect(case, add, log):
    """Runs a case and passes its files to add(name, data)."""
    inputs = {name: data.tensor("cuda") for name, data in case.buffers.items()}
    tensors = {name: tensor.clone() for name, tensor in inputs.items()}
    case.compiled = launch(case, tensors)
    torch.cuda.synchronize()
    full = case.compiled.asm["ptx"]
    ptx = strip(full)
    message = assembles(ptx)
    if message:
        log(f"  without debug sections ptxas refuses: {message.strip()[:300]}; source lines are removed")
        ptx = strip_lines(full)
        message = assembles(ptx)
        if message:
            log(f"  ptxas refuses this as well: {message.strip()[:300]}")
    description = launch_file(case, ptx, log)
    try:
        if not case.arch:
            compare(case, {**inputs, **{key: tensors[key] for key in case.outputs}}, log)
    except Exception as fault:  # pylint: disable=broad-except
        # The kernel is still a test of the engine, but its results must not be presented as right.
        log(f"  WRONG RESULT: {fault}")
    words = sorted(set(re.findall(r"^\s*(?:@!?%\w+\s+)?((?:wgmma|mma|ldmatrix|stmatrix|cp|mbarrier|tensormap|setmaxnreg|elect|"
                                  r"fence|barrier|bar|griddepcontrol|prmt|redux|shfl|atom|red)\.[\w.:]+)", ptx, re.M)))
    log("  " + " ".join(words))
    add(f"{case.group}/{case.name}.ptx", ptx.encode())
    add(f"{case.group}/{case.name}.json", json_text(description).encode())
    for key in [] if case.arch else case.outputs:
        add(f"{case.group}/expected/{case.name}.{key}", bytes_of(tensors[key]))


def bytes_of(tensor):
    """Returns the bytes of a tensor, without NumPy."""
    data = tensor.contiguous().flatten().view(torch.uint8).cpu()
    return bytes(data.tolist())


def all_cases(log):
    """Returns the cases of all modules; a module that cannot be imported is logged."""
    found, failed = [], False
    for module in MODULES:
        try:
            found += importlib.import_module(module).cases()
        except Exception:  # pylint: disable=broad-except
            log(f"{module} cannot be imported:\n{traceback.format_exc()}")
            failed = True
    return found, failed


def child(case, folder):
    """Runs one case in this process, and writes its files and its log to the folder. Exits with 1 if it fails."""
    status = 0
    with open(folder / f"{case.name}.log", "w", encoding="utf-8") as lines:
        def log(text):
            print(text, file=lines, flush=True)

        def add(name, data):
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

        log(f"{case.name}:")
        try:
            triton.set_allocator(lambda size, alignment, stream: torch.zeros(size, dtype=torch.int8, device="cuda"))
            collect(case, add, log)
            log("  collected")
        except BaseException:  # pylint: disable=broad-except
            log(f"  FAILED\n{traceback.format_exc()}")
            status = 1
    os._exit(status)  # pylint: disable=protected-access


def run_all(cases, folder):
    """Runs each case in a process of its own, so that a fault or an endless kernel does not affect the others. Returns the text of
    the log, and whether all cases have succeeded."""
    context = multiprocessing.get_context("fork")
    waiting, running, logs, good = list(cases), [], {}, True
    while waiting or running:
        while waiting and len(running) < PROCESSES:
            case = waiting.pop(0)
            process = context.Process(target=child, args=(case, folder))
            process.start()
            running.append((case, process, time.monotonic() + CASE_SECONDS))
        multiprocessing.connection.wait([process.sentinel for _, process, _ in running], timeout=1)
        for entry in list(running):
            case, process, deadline = entry
            late = process.is_alive() and time.monotonic() > deadline
            if late:
                process.kill()
            elif process.is_alive():
                continue
            process.join()
            running.remove(entry)
            path = folder / f"{case.name}.log"
            text = path.read_text(encoding="utf-8") if path.exists() else f"{case.name}:\n"
            if late or process.exitcode not in (0, 1):
                text += f"  FAILED: {f'not finished after {CASE_SECONDS} s' if late else f'exit code {process.exitcode}'}\n"
            good = good and not late and process.exitcode == 0
            print(text, end="", flush=True)
            logs[case.name] = text
    return "".join(logs[case.name] for case in cases), good


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    lines = [f"Triton {triton.__version__}, PyTorch {torch.__version__}"]
    cases, failed = all_cases(lines.append)
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases have the same name"
    with tempfile.TemporaryDirectory() as name, tarfile.open(sys.argv[1], "w:gz") as archive:
        folder = pathlib.Path(name)
        text, good = run_all([case for case in cases if len(sys.argv) == 2 or case.name in sys.argv[2:]], folder)
        lines.append(text)
        (folder / "files").mkdir(exist_ok=True)
        (folder / "files/log.txt").write_text("\n".join(lines), encoding="utf-8")
        archive.add(folder / "files", arcname="triton")
    print(lines[0])
    return 0 if good and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
