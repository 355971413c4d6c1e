"""Reads a configuration of GPGPU-Sim and Accel-Sim as the simulator does, and compares it with the description."""
import math
import os
import re

from descriptions import Problems, is_power_of_two, rounded

SECTOR = 32
LINE = 128  # of a sectored cache, and the largest request
DEFAULT_BANKS = 4  # of the DRAM, by the default of -gpgpu_dram_timing_opt
CACHES = ["-gpgpu_cache:dl1", "-gpgpu_cache:dl2", "-gpgpu_cache:il1", "-gpgpu_const_cache:l1", "-gpgpu_tex_cache:l1"]


def read_keys():
    """Returns {key: (type, required)}."""
    keys = {}
    with open(os.path.join(os.path.dirname(__file__), "accel-sim-keys.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and not words[0].startswith("#"):
                keys[words[0]] = (words[1], "required" in words[2:])
    return keys


KEYS = read_keys()


def tokens(text):
    """Splits a file as the simulator does: what follows '#' is a comment; values are separated by spaces, unless they are quoted."""
    words = " ".join(line.split("#")[0] for line in text.split("\n")).split()
    while words:
        word = words.pop(0)
        if word.startswith('"'):
            while not word.endswith('"') and words:
                word += " " + words.pop(0)
            word = word[1:-1]
        yield word


def read(text, problems):
    """Returns {key: value}."""
    found = {}
    words = list(tokens(text))
    problems.require(len(words) % 2 == 0, "a key has no value, or more than one")
    for key, value in zip(words[::2], words[1::2]):
        if key not in KEYS:
            problems.append(f"the simulator has no key {key}")
            continue
        problems.require(key not in found, f"{key} occurs twice")
        kind = KEYS[key][0]
        pattern = {"bool": "[01]", "uint": "[0-9]+", "int": "-?[0-9]+", "text": ".+"}[kind]
        problems.require(re.fullmatch(pattern, value), f"{key} {value} is no {kind}")
        if kind in ("uint", "int") and value.lstrip("-").isdigit():
            problems.require(len(value) == 1 or value[0] != "0", f"{key} {value} is an octal number")
            problems.require(int(value) < 2**32, f"{key} {value} is too large")
            value = int(value)
        found[key] = value
    for key, (_, required) in KEYS.items():
        problems.require(not required or key in found, f"{key} is missing, and has no usable default")
    return found


class Cache:
    """A cache string: kind:sets:line:ways,replacement:write:allocation:write allocation:index,mshr:entries:merged,queue[:fifo[,port]]"""

    PATTERN = re.compile(r"([NS]):(\d+):(\d+):(\d+),([LF]):([RBTEL]):([mfs]):([NWFL]):([HPCLX]),([FTAS]):(\d+):(\d+),(\d+)(?::(\d+))?(?:,(\d+))?")

    def __init__(self, key, value, problems):
        match = self.PATTERN.fullmatch(value)
        if not match:
            raise ValueError(f"{key}: the simulator cannot parse {value}")
        parts = match.groups()
        self.sectored = parts[0] == "S"
        self.sets, self.line, self.ways = (int(part) for part in parts[1:4])
        self.replacement, self.write, self.allocation, self.write_allocation, self.index, self.mshr = parts[4:10]
        fifo, port = parts[13:]
        problems.require(is_power_of_two(self.sets), f"{key}: {self.sets} sets")
        problems.require(is_power_of_two(self.line) and SECTOR <= self.line <= LINE, f"{key}: lines of {self.line} bytes")
        problems.require(self.ways > 0, f"{key}: no ways")
        problems.require(not self.sectored or self.line == LINE, f"{key}: a sectored cache with lines of {self.line} bytes")
        problems.require(self.allocation == "m" or self.write != "B", f"{key}: write-back, but allocation on fill")
        problems.require(self.allocation == "m" or self.write_allocation not in "FL", f"{key}: this write allocation needs allocation on miss")
        problems.require(self.mshr not in "FT" or (fifo and not port), f"{key}: the MSHRs of a texture cache need a FIFO and no port")
        problems.require(self.index != "H" or self.sets in (32, 64), f"{key}: Fermi's index needs 32 or 64 sets")
        if port:
            problems.require(self.line % int(port) == 0, f"{key}: a port of {port} bytes")

    @property
    def size(self):
        return self.sets * self.line * self.ways


def check_l1(found, caches, gpu, problems):
    element = "vector_l1" if gpu.has("vector_l1") else "l1"
    size = gpu.get(element, "size_bytes")
    cache = caches["-gpgpu_cache:dl1"]
    if size is None or gpu.get(element, "caches") == []:
        problems.expect("L1", cache, None)
        return
    if found.get("-gpgpu_adaptive_cache_config") == "1":
        unified = found["-gpgpu_unified_l1d_size"]
        carveouts = [int(part) for part in found["-gpgpu_shmem_option"].split(",")]
        problems.expect("unified memory", unified * 1024, gpu.get("l1", "unified_bytes"))
        problems.expect("carve-outs", [1024 * part for part in carveouts], gpu.get("shared", "carveout_bytes"))
        problems.expect("rest of the unified memory", unified % (cache.size // 1024), 0)
        most = unified // (cache.size // 1024) * cache.ways
        ways = [int(most * (1 - part / unified) + 0.5) for part in sorted(carveouts)]
        problems.expect("L1 with the smallest carve-out", cache.sets * cache.line * ways[0], size)
        problems.expect("ways of the L1", ways[0], gpu.get("l1", "ways", ways[0]))
        problems.require(max(carveouts) * 1024 >= found["-gpgpu_shmem_size"], "there is no carve-out for the whole shared memory")
    else:
        problems.expect("size of the L1", cache.size, size)
        problems.expect("ways of the L1", cache.ways, gpu.get(element, "ways", cache.ways))
    problems.expect("line of the L1", cache.line, gpu.get(element, "line_bytes", LINE))
    problems.expect("sectors of the L1", cache.sectored, gpu.get(element, "sector_bytes") == SECTOR)
    if gpu.get(element, "latency_cycles") is not None:
        problems.expect("latency of the L1", found["-gpgpu_l1_latency"], rounded(gpu.get(element, "latency_cycles")))
    problems.expect("global loads in the L1", found.get("-gpgpu_gmem_skip_L1D", "0"), "0" if "global" in gpu.get(element, "caches", ["global"]) else "1")


def check_l2(found, caches, gpu, text, problems):
    cache = caches["-gpgpu_cache:dl2"]
    halves = found["-gpgpu_n_sub_partition_per_mchannel"]
    parts = found["-gpgpu_n_mem"] * halves
    line = gpu.get("l2", "line_bytes", LINE)
    slices = gpu.get("l2", "slices")
    instances = gpu.get("l2", "instances", 1)
    size = instances * gpu.get("l2", "size_bytes", 4 * 1024**2)
    if "the L2 is smaller here" in text:
        problems.require(size / 2 < parts * cache.size < size, f"the L2 has {parts * cache.size} bytes, not almost {size}")
    else:
        problems.expect("size of the L2", parts * cache.size, size)
    problems.expect("line of the L2", cache.line, max(line, LINE))
    problems.require(line >= LINE or (cache.sectored and f"lines of {line} bytes" in text), "the short lines of the L2 are neither sectors nor explained")
    problems.expect("ways of the L2", cache.ways, gpu.get("l2", "ways", cache.ways))
    problems.require(is_power_of_two(halves) and DEFAULT_BANKS % halves == 0, f"{halves} sub-partitions per controller")
    if slices:
        problems.require(parts == slices * instances or f"Slices of the L2: {slices * instances}." in text, "nothing says that the number of slices differs")
    if gpu.get("l2", "partitions", 1) > 1:
        problems.require(f"{gpu.get('l2', 'partitions')} partitions" in text, "nothing says that the L2 has partitions")
    # An L2 without sectors takes no request that is larger than its line, and its clients have to know.
    for key, client in caches.items():
        if client and key != "-gpgpu_cache:dl2":
            problems.require(cache.sectored or (SECTOR if client.sectored else client.line) <= cache.line, f"{key}: lines larger than those of the L2")
            problems.require(client.sectored or (client.mshr in "ST") == cache.sectored, f"{key}: the MSHRs are not those for this L2")


def check_read_only(caches, gpu, problems):
    for key, elements in (("-gpgpu_const_cache:l1", ["scalar_l1", "constant_l1"]), ("-gpgpu_cache:il1", ["instruction_l1"]),
                          ("-gpgpu_tex_cache:l1", ["texture"])):
        element = next((name for name in elements if gpu.has(name)), elements[0])
        cache = caches[key]
        problems.expect(f"{key}: size", cache.size, gpu.get(element, "size_bytes", cache.size))
        problems.expect(f"{key}: line", cache.line, min(gpu.get(element, "line_bytes", cache.line), LINE))
        problems.expect(f"{key}: ways", cache.ways, gpu.get(element, "ways", cache.ways))
        problems.expect(f"{key}: writes", cache.write, "R")
        problems.expect(f"{key}: texture", cache.mshr in "FT", element == "texture")


def check_memory(found, gpu, problems):
    peak = gpu.get("memory", "peak_bytes_per_s")
    clock = gpu.get("device", "clock_mhz")
    if clock:
        clocks = [float(part) for part in found["-gpgpu_clock_domains"].split(":")]
        problems.expect("clocks", clocks[:3], [clock] * 3)
        problems.expect("number of clocks", len(clocks), 4)
        if peak:
            bandwidth = found["-gpgpu_n_mem"] * found["-gpgpu_dram_buswidth"] * found["-dram_data_command_freq_ratio"] * clocks[3] * 1e6
            problems.require(math.isclose(bandwidth, peak, rel_tol=1e-4), f"the memory has {bandwidth} bytes/s, not {peak}")
    start, bits = re.fullmatch(r"dramid@(\d+);(.*)", found["-gpgpu_mem_addr_mapping"]).groups()
    bits = bits.replace(".", "")
    problems.expect("bits of an address", len(bits), 64)
    problems.require(set(bits) <= set("0RBCS"), f"the mapping has other letters: {bits}")
    problems.expect("banks", 2 ** bits.count("B"), DEFAULT_BANKS)
    problems.expect("interleaving", 2 ** int(start), gpu.get("l2", "slice_bytes", 256))
    l1, l2 = (gpu.get(element, "latency_cycles") for element in ("vector_l1" if gpu.has("vector_l1") else "l1", "l2"))
    memory = gpu.get("memory", "latency_cycles")
    problems.expect("latency of the L2", found.get("-gpgpu_l2_rop_latency"), rounded(l2 - (l1 or 0)) if l2 else None)
    problems.expect("latency of the memory", found.get("-dram_latency"), rounded(memory - l2) if memory and l2 else None)


def check_sm(found, gpu, problems):
    shared = "lds" if gpu.has("lds") else "shared"
    problems.expect("SMs", found["-gpgpu_n_clusters"] * found["-gpgpu_n_cores_per_cluster"], gpu.get("device", "sms"))
    threads, warp = (int(part) for part in found["-gpgpu_shader_core_pipeline"].split(":"))
    problems.expect("warp size", warp, gpu.get("device", "warp_size", warp))
    problems.expect("threads per SM", threads, gpu.get("device", "max_threads_per_sm", threads))
    problems.expect("rest of the threads", threads % warp, 0)
    for key, section, name in (("-gpgpu_shmem_size", shared, "size_bytes"), ("-gpgpu_shmem_sizeDefault", shared, "size_bytes"),
                               ("-gpgpu_shmem_num_banks", shared, "banks"), ("-gpgpu_shader_cta", "device", "max_blocks_per_sm")):
        problems.expect(key, found.get(key), gpu.get(section, name))
    registers = gpu.get("registers", "size_bytes")
    problems.expect("registers", found.get("-gpgpu_shader_registers"), registers and registers // 4)
    latency = gpu.get(shared, "latency_cycles")
    problems.expect("latency of shared memory", found.get("-gpgpu_smem_latency"), latency and rounded(latency))
    capability = gpu.get("device", "compute_capability")
    if capability:
        parts = [int(part) for part in capability.split(".")]
        problems.expect("compute capability", [found["-gpgpu_compute_capability_major"], found["-gpgpu_compute_capability_minor"]], parts)
        problems.expect("SM number", found["-gpgpu_occupancy_sm_number"], 10 * parts[0] + parts[1])


def check_notes(caches, gpu, text, problems):
    """Policies that the simulator does not have must be named in a comment."""
    comments = " ".join(line[2:] for line in text.split("\n") if line.startswith("# "))
    for key, element in (("-gpgpu_cache:dl1", "vector_l1" if gpu.has("vector_l1") else "l1"), ("-gpgpu_cache:dl2", "l2"),
                         ("-gpgpu_const_cache:l1", "constant_l1"), ("-gpgpu_tex_cache:l1", "texture")):
        policy = gpu.get(element, "policy")
        if policy and caches[key]:
            problems.expect(f"{key}: replacement", caches[key].replacement, "F" if policy == "fifo" else "L")
            problems.require(policy in ("lru", "fifo") or f'{element} is "{policy}"' in comments, f"nothing says that {element} has {policy}")


def check(text, gpu):
    """Returns the problems of a configuration."""
    problems = Problems()
    found = read(text, problems)
    if problems:
        return problems
    try:
        caches = {key: None if found[key] == "none" else Cache(key, found[key], problems) for key in CACHES}
    except ValueError as error:
        problems.append(str(error))
        return problems
    check_sm(found, gpu, problems)
    check_l1(found, caches, gpu, problems)
    check_read_only(caches, gpu, problems)
    check_l2(found, caches, gpu, " ".join(text.replace("\n# ", " ").split()), problems)
    check_memory(found, gpu, problems)
    check_notes(caches, gpu, text, problems)
    return problems
