"""Reads mt4g's JSON as the parser of sys-sage does, which requires some keys and their types, and compares the tree with the description.

The facts are those of ParseMt4g_v1_x (src/parsers/mt4g_v1_x.cpp of github.com/caps-tum/sys-sage, 2025): which keys it reads, which of them
it requires, and into how many caches it divides each level. A required key that is missing ends the program that uses sys-sage.
"""
import json

from descriptions import Problems


class Refused(Exception):
    """The parser would fail."""


class Object:
    """A JSON object of which keys are required. `path` is for messages."""

    def __init__(self, value, path):
        if not isinstance(value, dict):
            raise Refused(f"{path} is no object")
        self.value, self.path = value, path

    def __contains__(self, key):
        return key in self.value

    def __len__(self):
        return len(self.value)

    def get(self, key, kind):
        path = f"{self.path}.{key}"
        if key not in self.value:
            raise Refused(f"{path} is missing")
        value = self.value[key]
        if kind is Object:
            return Object(value, path)
        if kind is str or kind is list:
            good = isinstance(value, kind)
        else:
            good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if kind is int:
            good = good and value == int(value) and -2**31 <= value < 2**31
        if kind == "size":
            good = good and value == int(value) and 0 <= value < 2**64
        if not good:
            raise Refused(f"{path} is {value}, which is no {kind if isinstance(kind, str) else kind.__name__}")
        return value

    def quantity(self, key, kind):
        return self.get(key, Object).get("value", kind)

    def size(self, key):
        return self.get(key, Object).get("size", "size")

    def mean(self):
        return self.get("latency", Object).get("mean", float)


class Tree:
    """What sys-sage makes of a file."""

    def __init__(self, text):
        root = Object(json.loads(text), "root")
        general, compute = root.get("general", Object), root.get("compute", Object)
        self.name, self.vendor = general.get("name", str), general.get("vendor", str)
        capability = general.get("computeCapability", Object)
        self.capability = (capability.get("major", int), capability.get("minor", int))
        self.clock = general.quantity("clockRate", int)
        for key in ("maxThreadsPerBlock", "warpSize", "maxThreadsPerMultiProcessor", "maxBlocksPerMultiProcessor"):
            compute.get(key, int)
        self.sms = compute.get("multiProcessorCount", int)
        self.cores = compute.get("numberOfCoresPerMultiProcessor", int)
        if self.sms < 1:
            raise Refused("there is no SM: a division by zero")
        self.leaves = 1
        memory = root.get("memory", Object)
        self.read_global(memory)
        self.read_local(memory)
        self.unknown = json.loads(text)["meta"].get("unknown", [])

    def divide(self, amount, what):
        """Divides the caches of a level among those of the level above. Those that remain would not exist."""
        if amount < 1 or amount % self.leaves:
            raise Refused(f"{amount} {what} cannot be divided among {self.leaves} parents")
        self.leaves = amount

    def read_bandwidths(self, level):
        return level.quantity("readBandwidth", float), level.quantity("writeBandwidth", float)

    def read_global(self, memory):
        main = memory.get("main", Object)
        self.memory = main.quantity("totalGlobalMem", "size")
        main.quantity("memoryClockRate", int)
        self.bus = main.quantity("memoryBusWidth", int)
        self.memory_latency = self.memory_bandwidths = self.l2_latency = None
        if "latency" in main:
            self.memory_latency = main.mean()
            self.memory_bandwidths = self.read_bandwidths(main)
        self.l3 = None
        if "l3" in memory:
            l3 = memory.get("l3", Object)
            self.l3 = l3.quantity("size", "size") if "size" in l3 else None
            self.divide(l3.get("amount", int) if "amount" in l3 else 1, "L3 caches")
            if "lineSize" in l3:
                l3.quantity("lineSize", "size")
            if "readBandwidth" in l3:
                self.read_bandwidths(l3)
        l2 = memory.get("l2", Object)
        self.l2 = l2.quantity("size", int)
        self.divide(l2.get("amount", int) if "amount" in l2 else 1, "L2 caches")
        self.l2_count = self.leaves
        if "lineSize" in l2:
            line = l2.get("lineSize", Object)
            self.l2_line = line.get("value" if "value" in line else "size", "size")
        for key in ("fetchGranularity", "segmentSize"):
            if key in l2:
                l2.size(key)
        if "latency" in l2:
            self.l2_latency = l2.mean()
            self.read_bandwidths(l2)
        self.scalar = None
        if "scalarL1" in memory:
            scalar = memory.get("scalarL1", Object)
            self.scalar = self.read_cache(scalar)
            amount = scalar.get("uniqueAmount", "size") if "uniqueAmount" in scalar else 1
            self.divide(amount, "scalar caches")
            self.scalar_count = amount

    def read_cache(self, cache):
        """Reads a cache of which size, fetch granularity and latency are required. Returns its size."""
        cache.size("fetchGranularity")
        cache.mean()
        if "lineSize" in cache:
            cache.size("lineSize")
        return cache.size("size")

    def read_local(self, memory):
        constant = memory.get("constant", Object)
        self.constant = self.constant15 = None
        if len(constant) == 1:
            constant.quantity("totalConstMem", "size")
        else:
            second = constant.get("l1.5", Object)
            second.size("fetchGranularity")
            self.constant15 = second.size("size")
            first = constant.get("l1", Object)
            if "sharedWith" not in first:
                self.constant = self.read_cache(first)
        shared = memory.get("shared", Object)
        shared.quantity("sharedMemPerBlock", "size")
        self.shared = shared.quantity("sharedMemPerMultiProcessor", "size")
        self.shared_latency = shared.mean() if "latency" in shared else None
        l1 = memory.get("l1", Object)
        self.l1 = l1.size("size") if "size" in l1 else None
        self.l1_line = l1.size("lineSize") if "lineSize" in l1 else None
        self.l1_latency = l1.mean() if "latency" in l1 else None
        with_l1 = l1.get("sharedWith", list) if "sharedWith" in l1 else []
        self.texture = self.read_only = None
        with_texture = []
        if "texture" in memory and "Texture" not in with_l1:
            texture = memory.get("texture", Object)
            self.texture = self.read_cache(texture)
            with_texture = texture.get("sharedWith", list) if "sharedWith" in texture else []
        if "readOnly" in memory and "Read Only" not in with_l1 + with_texture:
            self.read_only = self.read_cache(memory.get("readOnly", Object))


def check(text, gpu):
    """Returns the problems of a file."""
    problems = Problems()
    try:
        tree = Tree(text)
    except Refused as reason:
        problems.append(f"sys-sage cannot read the file: {reason}")
        return problems
    l1 = "vector_l1" if gpu.has("vector_l1") else "l1"
    lds = "lds" if gpu.has("lds") else "shared"
    zeros = {path.rsplit(".", 1)[0] if path.endswith(".major") else path for path in tree.unknown}
    for what, found, section, name, path in (
            ("name", tree.name, "device", "name", "general.name"), ("SMs", tree.sms, "device", "sms", ""),
            ("cores", tree.cores, "device", "cores_per_sm", "compute.numberOfCoresPerMultiProcessor"),
            ("bus", tree.bus, "device", "memory_bus_bits", "memory.main.memoryBusWidth"),
            ("memory", tree.memory, "memory", "size_bytes", "memory.main.totalGlobalMem"),
            ("latency of the memory", tree.memory_latency, "memory", "latency_cycles", None),
            ("L3", tree.l3, "l3", "size_bytes", None), ("L2", tree.l2, "l2", "size_bytes", "memory.l2.size"),
            ("latency of the L2", tree.l2_latency, "l2", "latency_cycles", None),
            ("shared memory", tree.shared, lds, "size_bytes", "memory.shared.sharedMemPerMultiProcessor"),
            ("latency of shared memory", tree.shared_latency, lds, "latency_cycles", None),
            ("L1", tree.l1, l1, "size_bytes", None), ("line of the L1", tree.l1_line, l1, "line_bytes", None),
            ("latency of the L1", tree.l1_latency, l1, "latency_cycles", None)):
        value = gpu.get(section, name)
        if value is None and path:
            problems.require(path in zeros, f"{path} is not in the list of unknown figures")
        else:
            problems.expect(what, found, value)
    problems.expect("L2 caches", tree.l2_count, gpu.get("l2", "instances", 1))
    problems.expect("clock", tree.clock, rounded_kilohertz(gpu))
    if tree.scalar is not None:
        problems.expect("scalar cache", tree.scalar, gpu.get("scalar_l1", "size_bytes"))
    capability = gpu.get("device", "compute_capability")
    if capability:
        problems.expect("compute capability", tree.capability, tuple(int(part) for part in capability.split(".")))
    return problems


def rounded_kilohertz(gpu):
    return int(gpu.get("device", "clock_mhz", 0) * 1000)
