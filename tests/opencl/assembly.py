"""Reads assembly that clang writes, and checks the timed parts of a kernel.

A timed part lies between two readings of the clock, which the preludes of src/kernels/opencl/ mark with a comment, such as
"fth begin data" and "fth end data". It is found along the branches, not by the order of the lines.
"""
import re


class Fault(Exception):
    """What is wrong with a kernel."""


class Instruction:
    """One instruction: opcode, operands, and the note in its comment."""

    def __init__(self, text, note):
        # A predicate of PTX: "@%p1 bra".
        self.predicate, text = re.match(r"(@!?\S+\s+)?(.*)", text).groups()
        parts = re.split(r"\s+", text.strip(), maxsplit=1)
        self.text, self.opcode, self.note = re.sub(r"\s+", " ", text.strip()), parts[0], note
        self.operands = [word.strip() for word in re.split(r",(?![^\[({]*[\])}])", parts[1])] if len(parts) > 1 else []
        self.following = []


class Target:
    """What differs between instruction sets.

    comment      regular expression of what starts a comment
    jump         regular expression of branches; the last operand is the label
    always       regular expression of instructions that never continue with the next one
    registers    regular expression of a register
    """
    comment, jump, always, registers = r"$^", r"$^", r"$^", r"$^"
    copies = r"$^"  # instructions that may stand between two loads of a chain and use the result of the first

    def alias(self, register):
        """Returns one name for all names of a register."""
        return register

    def reads_writes(self, instruction):
        """Returns the sets of registers that an instruction other than a load reads and writes."""
        operands = instruction.operands
        return self.names(operands[1:]), self.names(operands[:1])

    def names(self, operands):
        """Returns the registers in a list of operands."""
        found = set()
        for operand in operands:
            found |= {self.alias(name) for name in re.findall(self.registers, operand)}
        return found

    def is_memory(self, instruction):
        """Tells whether an instruction accesses memory."""
        raise NotImplementedError

    def body(self, text, kernel):
        """Returns the lines of a kernel."""
        found = re.search(r"^%s:.*?$(.*?)^\.Lfunc_end" % kernel, text, re.M | re.S)
        if not found:
            raise Fault("there is no kernel %s" % kernel)
        return found.group(1).split("\n")


class Amd(Target):
    """AMD's GPUs. A vector register is v1, a scalar one s1, a group of them s[2:3]."""
    comment, jump, always, registers = r";", r"s_c?branch", r"s_(branch|endpgm|setpc)", r"\b[vs](?:\d+\b|\[\d+:\d+\])"
    copies = r"(v_mov_b32|s_mov_b32)"

    def is_memory(self, instruction):
        return re.match(r"(global|flat|buffer|scratch|ds|image|tbuffer)_|s_(load|buffer|store|scratch|atomic)", instruction.opcode)


class X86(Target):
    """x86-64 in AT&T syntax: the destination is the last operand."""
    comment, jump, always, registers = r"#", r"j", r"(jmp|ret)", r"%\w+"
    copies = r"movl"

    def alias(self, register):
        name = register.strip("%")
        if re.match(r"r\d+[dwb]?$", name):
            return name.rstrip("dwb")
        return re.sub(r"^[er]", "", name)

    def reads_writes(self, instruction):
        operands, copies = instruction.operands, re.match(r"mov|lea|set", instruction.opcode)
        return self.names(operands[:-1] if copies else operands), self.names(operands[-1:])

    def is_memory(self, instruction):
        return not instruction.opcode.startswith("lea") and any("(" in operand for operand in instruction.operands)


class Arm64(Target):
    """64-bit Arm: w1 is the lower half of x1."""
    comment, jump, always, registers = r"//", r"(b|b\..*|cbn?z|tbn?z)$", r"(b|ret|br)$", r"\b[wx]\d+\b"
    copies = r"mov$"

    def alias(self, register):
        return register[1:]

    def is_memory(self, instruction):
        return any("[" in operand for operand in instruction.operands)


class Ptx(Target):
    """PTX has no fixed registers. Addresses need a conversion and an addition."""
    comment, jump, always, registers = r"//", r"bra", r"(bra|ret|trap|exit)", r"%\w+"
    copies = r"(mov|cvt\.u64\.u32|add\.s64)"

    def is_memory(self, instruction):
        return re.match(r"(ld|st|atom|red|tex)\b(?!\.param)", instruction.opcode)

    def body(self, text, kernel):
        found = re.search(r"\.entry %s\(.*?\n\{(.*?)\n\}\n" % kernel, text, re.S)
        if not found:
            raise Fault("there is no kernel %s" % kernel)
        return found.group(1).split("\n")


class Kernel:
    """The instructions of a kernel, and in which order they can follow each other."""

    def __init__(self, text, name, target):
        self.target, self.code = target, []
        labels = {}
        for line in target.body(text, name):
            parts = re.split(r"\s*" + target.comment, line, maxsplit=1)
            note = re.search(r"\bfth (.*)", parts[1]) if len(parts) > 1 else None
            statement = parts[0].strip().rstrip(";")
            label = re.match(r"([.$\w]+):\s*(.*)", statement)
            if label:
                labels.setdefault(label.group(1), []).append(len(self.code))
                statement = label.group(2)
            if statement and not statement.startswith((".", "{", "}")):
                self.code.append(Instruction(statement, note.group(1).strip() if note else None))
        for index, instruction in enumerate(self.code):
            stops = re.match(target.always, instruction.opcode) and not instruction.predicate
            if not stops and index + 1 < len(self.code):
                instruction.following.append(index + 1)
            if re.match(target.jump, instruction.opcode):
                instruction.following.append(self.place(labels, instruction.operands[-1], index))

    @staticmethod
    def place(labels, label, index):
        """Returns where a label is. "1f" is the next label 1."""
        if re.match(r"\d+f$", label):
            return min(place for place in labels[label[:-1]] if place > index)
        return labels[label][-1]

    def reached(self, start, stop):
        """Returns the indices that can follow `start` up to those for which `stop` is true, including these."""
        found, waiting = set(), list(self.code[start].following)
        while waiting:
            index = waiting.pop()
            if index not in found:
                found.add(index)
                if not stop(self.code[index]):
                    waiting += self.code[index].following
        return found

    def parts(self, name):
        """Yields (beginning, end, region) of the timed part `name`. The compiler may have copied it."""
        begins = [i for i, instruction in enumerate(self.code) if instruction.note == "begin " + name]
        if not begins:
            raise Fault("no reading of the clock is marked 'begin %s'" % name)
        for begin in begins:
            region = self.reached(begin, lambda instruction: instruction.note)
            ends = {i for i in region if self.code[i].note}
            wrong = {self.code[i].note for i in ends} - {"end " + name}
            if wrong or not ends:
                raise Fault("after 'begin %s' comes %s" % (name, ", ".join(sorted(wrong)) or "no reading of the clock"))
            outside = [i for i in region - ends if not self.code[i].following]
            if outside:
                raise Fault("the kernel can end between the readings of the clock")
            yield begin, ends, region - ends

    def loops(self, region):
        """Returns the loops of a region: lists of indices in the order of execution."""
        after = {i: self.reached(i, lambda instruction: instruction.note) & region for i in region}
        seen, loops = set(), []
        for i in sorted(region):
            if i in seen or i not in after[i]:
                continue
            members = {j for j in after[i] if i in after[j]}
            seen |= members
            order, at = [i], i
            while True:
                inside = [j for j in self.code[at].following if j in members]
                if len(inside) != 1:
                    raise Fault("a loop has branches: %s" % self.code[at].text)
                at = inside[0]
                if at == i:
                    break
                order.append(at)
            loops.append(order)
        return loops


def check_chain(kernel, loop, load, base):
    """Checks that each load of a loop uses the result of the one before and nothing else happens to it. `load` has the groups
    `to`, `address` and perhaps `base`; `base` is the set of base registers so far."""
    target, last = kernel.target, set()
    for index in loop + loop:  # The second time covers the way back to the start.
        instruction = kernel.code[index]
        match = re.match(load, instruction.text)
        if match:
            address = target.names([match.group("address")])
            if last and not address & last:
                raise Fault("the address of '%s' is not the result of the load before" % instruction.text)
            if match.groupdict().get("base"):
                base |= target.names([match.group("base")])
            last = target.names([match.group("to")])
            continue
        reads, writes = target.reads_writes(instruction)
        if reads & last:
            if not re.match(target.copies, instruction.opcode):
                raise Fault("'%s' is between two loads of the chain" % instruction.text)
            last = last | writes
        elif writes & last:
            last = last - writes
        if writes & base:
            raise Fault("'%s' changes the base" % instruction.text)


def check_waits(kernel, first, waits, stops, what):
    """Checks that a wait comes between the instruction `first` and all those that match `stops`, or have a note."""
    for index in kernel.reached(first, lambda instruction: re.match(waits, instruction.text) or re.match(stops, instruction.text) or
                                instruction.note):
        instruction = kernel.code[index]
        if not re.match(waits, instruction.text) and (re.match(stops, instruction.text) or instruction.note):
            raise Fault("no wait between '%s' and '%s' (%s)" % (kernel.code[first].text, instruction.text, what))


def check_part(kernel, name, load, hops, waits=None, clock_waits=None, allowed=None):
    """Checks the timed part `name`: its loops have `hops` loads each (in ascending order; []: there is one load and no loop), all
    of them match `load`, and there is no other access to memory, except those outside of the loops that match `allowed`."""
    for begin, ends, region in kernel.parts(name):
        loops = kernel.loops(region)
        inside = {i for loop in loops for i in loop}
        for index in sorted(region):
            instruction = kernel.code[index]
            if kernel.target.is_memory(instruction) and not re.match(load, instruction.text):
                if index in inside or not (allowed and re.match(allowed, instruction.text)):
                    raise Fault("another access to memory: %s" % instruction.text)
        loads = [i for i in region if re.match(load, kernel.code[i].text)]
        counts = sorted(sum(i in loop for i in loads) for loop in loops)
        if counts != hops:
            raise Fault("the loops have %s loads, not %s" % (counts or "no", hops or "none"))
        if len(loads) != (sum(hops) or 1):
            raise Fault("%d loads are outside of the loops" % (len(loads) - sum(hops)))
        base = set()
        for loop in loops:
            check_chain(kernel, loop, load, base)
        if waits:
            for index in loads:
                check_waits(kernel, index, waits, load, "of the load")
        if clock_waits:
            for index in [begin] + sorted(ends):
                check_waits(kernel, index, clock_waits, load, "of the clock")
