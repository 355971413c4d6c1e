"""Reads options of gem5's GPU model as its argparse parser does, and compares them with the description."""
import argparse
import os
import re

from descriptions import Problems, is_power_of_two, rounded

PIPELINE_CYCLES = 100  # of a compute unit: mem_req_latency + mem_resp_latency
UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
DEFAULT_POLICY = "TreePLRURP"  # of --tcp-rp, --tcc-rp and --sqc-rp


def size(text):
    match = re.fullmatch(r"([0-9]+)(B|KiB|MiB|GiB)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is no size")
    return int(match[1]) * UNITS[match[2]]


def clock(text):
    match = re.fullmatch(r"([0-9.]+)(MHz|GHz)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is no clock")
    return float(match[1]) * (1 if match[2] == "MHz" else 1000)


def policy(text):
    if not re.fullmatch(r"[A-Za-z]+RP", text):
        raise argparse.ArgumentTypeError(f"{text} is no replacement policy")
    return text


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError(message)


def make_parser():
    parser = Parser(allow_abbrev=False)
    with open(os.path.join(os.path.dirname(__file__), "gem5-options.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("--"):
                name, kind = line.split()
                kinds = {"int": int, "size": size, "clock": clock, "policy": policy}
                parser.add_argument(name, **({"type": kinds[kind]} if kind in kinds else {"choices": kind.split("|")}))
    return parser


PARSER = make_parser()


def check_cache(found, name, banks, element, gpu, text, problems):
    """A cache has its size, and a power of two of sets, of at least two."""
    expected = gpu.get(element, "size_bytes")
    size_found, ways = getattr(found, name + "_size"), getattr(found, name + "_assoc")
    problems.expect(f"size of the {name}", size_found, expected)
    if expected is None:
        return
    if ways is None:
        problems.require(f"{element} allows no power of two" in text, f"the {name} has no ways")
        return
    sets = size_found / banks / (ways * found.cacheline_size)
    problems.require(sets == int(sets) and sets >= 2 and is_power_of_two(int(sets)), f"the {name} has {sets} sets")
    rule = getattr(found, name + "_rp") or DEFAULT_POLICY
    problems.require(rule != "TreePLRURP" or is_power_of_two(ways), f"the {name} has TreePLRU and {ways} ways")
    real = gpu.get(element, "ways")
    fits = real and is_power_of_two(rounded(expected / banks / (real * found.cacheline_size)))
    if real and fits and expected % (banks * real * found.cacheline_size) == 0:
        problems.expect(f"ways of the {name}", ways, real)


def check_die(found, gpu, problems):
    instances = gpu.get("l2", "instances", 1)
    problems.expect("compute units", found.num_compute_units, gpu.get("device", "sms") // instances)
    problems.expect("wavefront", found.wf_size, gpu.get("device", "warp_size"))
    lds = "lds" if gpu.has("lds") else "shared"
    problems.expect("LDS", found.lds_size, gpu.get(lds, "size_bytes"))
    problems.expect("banks of the LDS", found.numLdsBanks, gpu.get(lds, "banks"))
    problems.expect("clock", found.gpu_clock, gpu.get("device", "clock_mhz"))
    for name in (found.cu_per_sqc, found.cu_per_scalar_cache):
        problems.expect("rest of the compute units per shader array", found.cu_per_sa % name, 0)
    if found.wfs_per_simd:
        problems.expect("threads", found.wfs_per_simd * found.simds_per_cu * found.wf_size, gpu.get("device", "max_threads_per_sm"))
    if found.vreg_file_size:
        problems.expect("registers", found.vreg_file_size * found.simds_per_cu * found.wf_size * 4, gpu.get("registers", "size_bytes"))
    devices = {"Vega": "Vega10", "GCN 5": "Vega10", "CDNA": "MI100", "CDNA 1": "MI100", "CDNA 2": "MI200", "CDNA 3": "MI300X"}
    problems.expect("device", found.gpu_device, devices.get(gpu.get("device", "architecture")))


def check(arguments, text, gpu):
    """Returns the problems of a file of options; `arguments` is what the shell makes of it."""
    problems = Problems()
    try:
        found = PARSER.parse_args(arguments)
    except ValueError as error:
        problems.append(f"gem5's parser refuses the options: {error}")
        return problems
    element = "vector_l1" if gpu.has("vector_l1") else "l1"
    line = gpu.get(element, "line_bytes")
    problems.expect("line", found.cacheline_size, line if line in (64, 128) else 64)
    check_die(found, gpu, problems)
    check_cache(found, "tcp", 1, element, gpu, text, problems)
    check_cache(found, "sqc", 1, "instruction_l1", gpu, text, problems)
    if gpu.get("l2", "size_bytes") is None:
        found.num_tccs = 1
    problems.require(is_power_of_two(found.num_tccs), f"the L2 has {found.num_tccs} banks")
    slices = gpu.get("l2", "slices")
    if slices and is_power_of_two(slices):
        problems.expect("banks of the L2", found.num_tccs, slices)
    elif slices:
        problems.require(f"{slices} slices" in text, "nothing says that the number of slices differs")
    check_cache(found, "tcc", found.num_tccs, "l2", gpu, text, problems)
    l1, l2, memory = (gpu.get(name, "latency_cycles") for name in (element, "l2", "memory"))
    problems.expect("latency of the L1", found.mandatory_queue_latency, rounded(l1 - PIPELINE_CYCLES) if l1 and l1 > PIPELINE_CYCLES else None)
    problems.expect("latency of the L2", found.TCC_latency, rounded(l2 - l1) if l1 and l2 else None)
    problems.expect("latency of the memory", found.gpu_to_dir_latency, rounded(memory - l2) if memory and l2 else None)
    return problems
