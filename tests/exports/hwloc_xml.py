"""Checks hwloc XML against the rules of hwloc's DTD and of its import, in versions 2 and 3.

The facts are those of hwloc2.dtd and of hwloc/topology-xml.c of github.com/open-mpi/hwloc. hwloc 3.0 uses the same DTD. It reads files of
the versions 2.x and 3.x, and refuses others. Of a file of version 2.x, it moves some info entries of the root, such as "Backend", to the
topology; all else that fathom writes means the same in both versions.
"""
import collections
import re
import xml.etree.ElementTree

from descriptions import Problems

TYPES = {"Machine", "Misc", "Group", "NUMANode", "MemCache", "Package", "Die", "L1Cache", "L2Cache", "L3Cache", "L4Cache", "L5Cache", "L1iCache",
         "L2iCache", "L3iCache", "Core", "PU", "Bridge", "PCIDev", "OSDev"}
# The attributes of objects that both versions read; 3.0 reads gp_index as before, and "id" as its new form.
ATTRIBUTES = {"type", "subtype", "os_index", "gp_index", "name", "local_memory", "cache_size", "cache_linesize", "cache_associativity", "cache_type",
              "cpuset", "complete_cpuset", "allowed_cpuset", "nodeset", "complete_nodeset", "allowed_nodeset", "depth", "kind", "subkind",
              "dont_merge"}
# The order of the members of an object and of a topology.
OBJECT_MEMBERS = ["page_type", "info", "userdata", "object"]
TOPOLOGY_MEMBERS = ["object", "distances2", "distances2hetero", "support", "memattr", "cpukind", "info"]
UNIFIED, DATA, INSTRUCTION = 0, 1, 2


def read_set(text):
    """Returns the numbers of the bits of a set: hexadecimal words of 32 bits, the highest first."""
    words = text.split(",")
    if not all(re.fullmatch("0x[0-9a-f]{1,8}", word) for word in words):
        raise ValueError(text)
    value = 0
    for word in words:
        value = value << 32 | int(word, 16)
    return {bit for bit in range(value.bit_length()) if value >> bit & 1}


class Checker:
    def __init__(self, problems):
        self.problems = problems
        self.numbers = set()
        self.counts = collections.Counter()

    def members(self, element, order):
        places = [order.index(child.tag) if child.tag in order else None for child in element]
        if None in places or places != sorted(places):
            self.problems.append(f"the members of <{element.tag}> are not in the order {order}")

    def sets(self, element, parent):
        """Normal objects and memory have sets, within those of their parent. A Misc object has none."""
        kind = element.get("type")
        if kind == "Misc":
            self.problems.require(element.get("cpuset") is None, "a Misc object has a cpuset")
            return
        for name in ("cpuset", "nodeset"):
            text = element.get(name)
            self.problems.require(text is not None, f"{kind} has no {name}")
            if text is None:
                continue
            bits = read_set(text)
            self.problems.require(bits or kind == "NUMANode", f"the {name} of {kind} is empty")
            self.problems.expect(f"complete_{name} of {kind}", read_set(element.get("complete_" + name, "0x0")), bits)
            if parent is not None:
                self.problems.require(parent.get("type") != "Misc", f"{kind} is within a Misc object")
                self.problems.require(bits <= read_set(parent.get(name, "0x0")), f"the {name} of {kind} is not within that of {parent.get('type')}")

    def cache(self, element):
        """The name of a cache must agree with its depth and type."""
        kind = element.get("type")
        match = re.fullmatch(r"L([1-5])(i?)Cache", kind)
        if not match:
            self.problems.require("cache_size" not in element.attrib, f"{kind} has a cache_size")
            return
        self.problems.expect(f"depth of {kind}", element.get("depth"), match[1])
        cache_type = int(element.get("cache_type", UNIFIED))
        self.problems.expect(f"type of {kind}", cache_type == INSTRUCTION, bool(match[2]))
        self.problems.require(cache_type in (UNIFIED, DATA, INSTRUCTION), f"{kind} has the type {cache_type}")

    def check(self, element, parent=None):
        kind = element.get("type")
        self.counts[kind] += 1
        self.problems.require(kind in TYPES, f"there is no type {kind}")
        self.problems.expect("first attribute of an object", next(iter(element.attrib)), "type")
        self.problems.require(set(element.attrib) <= ATTRIBUTES, f"{kind} has attributes that hwloc does not have: {set(element.attrib) - ATTRIBUTES}")
        number = element.get("gp_index", "0")
        self.problems.require(number.isdigit() and int(number) > 0 and number not in self.numbers, f"gp_index {number} is not unique")
        self.numbers.add(number)
        self.members(element, OBJECT_MEMBERS)
        self.sets(element, parent)
        self.cache(element)
        for info in element.findall("info"):
            self.problems.expect("attributes of <info>", set(info.attrib), {"name", "value"})
        children = [child for child in element.findall("object") if child.get("type") not in ("Misc", "NUMANode")]
        firsts = [min(read_set(child.get("cpuset", "0x0")), default=-1) for child in children]
        self.problems.expect(f"order of the children of {kind}", firsts, sorted(firsts))
        for child in element.findall("object"):
            self.check(child, element)


def check(path, gpu):
    """Returns the problems of a file."""
    problems = Problems()
    root = xml.etree.ElementTree.parse(path).getroot()
    problems.expect("root", root.tag, "topology")
    # 2.x refuses a major version above 2, 3.0 refuses one below 2.
    problems.require(re.fullmatch(r"2\.[0-9]+", root.get("version", "")), f"the version is {root.get('version')}")
    checker = Checker(problems)
    checker.members(root, TOPOLOGY_MEMBERS)
    objects = root.findall("object")
    problems.expect("objects of the topology", [part.get("type") for part in objects], ["Machine"])
    for support in root.findall("support"):
        problems.require(set(support.attrib) <= {"name", "value"} and "name" in support.attrib, "a <support> without a name")
    for part in objects:
        checker.check(part)
        for name in ("allowed_cpuset", "allowed_nodeset"):
            problems.require(part.get(name) is not None, f"the machine has no {name}")
    problems.expect("cores", checker.counts["Core"], gpu.get("device", "sms"))
    problems.expect("PUs", checker.counts["PU"], gpu.get("device", "sms"))
    return problems
