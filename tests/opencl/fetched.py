"""Checks the machine code of the kernel fth_fetch (src/kernels/opencl/fetch.cl): that a request executes exactly the instructions
that it asks for, and no others than those of the loop.

The code lies before an end, which the kernel computes from an address. Each check follows this computation in the object file, and
compares the instructions before the end, those of the loop after it, and where the loop continues.
"""
import re
import struct

from assembly import Fault

NOP = 0xbf800000  # s_nop 0 of all generations
# s_add_u32 s42, s40, literal and s_add_u32 s40, s40, literal: SOP2, opcode 0 [AMD's ISA documents, section "SOP2"].
ADD_NEXT, ADD_END = 0x802aff28, 0x8028ff28
NOPL = bytes([0x0f, 0x1f, 0x40, 0x00])  # nopl 0(%rax)


def require(good, message, *details):
    if not good:
        raise Fault(message % details)


def section(path, wanted):
    """Returns the contents of the section whose name matches, of the kernel fth_fetch, and checks that nothing relocates it."""
    with open(path, "rb") as file:
        data = file.read()
    offset, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * i) for i in range(count)]
    found = []
    for header in headers:
        start = headers[names][4] + header[0]
        name = data[start:data.index(b"\0", start)].decode()
        if re.fullmatch(wanted, name) and header[5]:
            found.append(data[header[4]:header[4] + header[5]])
    require(len(found) == 1, "there are %d sections of code", len(found))
    return found[0]


def words_of(data):
    return list(struct.unpack("<%dI" % (len(data) // 4), data[:len(data) // 4 * 4]))


def position(words, word):
    """Returns the only position of a word."""
    found = [i for i, each in enumerate(words) if each == word]
    require(len(found) == 1, "the kernel has the instruction %08x %d times", word, len(found))
    return found[0]


def check_timed(text):
    """Checks that the clock is read before and after the code, and that the kernel does not access memory in between."""
    timed = re.findall(r"fth begin fetch(.*?)fth end fetch", text, re.S)
    require(len(timed) == 1, "the code is timed in %d places", len(timed))
    access = re.search(r"\n\s+((?:global|flat|buffer|scratch|ds)_\w+|s_load\w+|s_buffer\w+)", timed[0])
    require(not access, "the timed part accesses memory: %s", access and access.group(1))


def check_amd(path, loop, count):
    """Checks straight-line code. `loop` has the instructions behind it and the one that enters it, as words: the branch to the exit,
    the branch to the entry, and the exit."""
    words = words_of(section(path, r"\.text"))
    first = position(words, ADD_NEXT)
    require(words[first + 3] == ADD_END or words[first + 3] >> 24 == 0x80, "the entry is computed in another way")
    second = position(words, ADD_END)
    following, end = first + words[first + 1] // 4, first + words[second + 1] // 4
    wrong = [i for i in range(end - count, end) if words[i] != NOP]
    require(end >= count and end < len(words) and not wrong, "%d of the %d instructions are others", len(wrong), count)
    require(words[end] >> 24 == 0x80 and words[end] & 0xff00 == 0x8100, "the loop does not begin with a subtraction of 1")
    require(words[end + 1] >> 16 == 0xbf06 and words[end + 1] >> 8 & 0xff == 0x80, "the loop does not compare with 0")
    require(words[end + 2:end + 5] == loop, "the loop has other branches")
    require(words[following - 1] == loop[1], "the loop does not continue after the branch to the entry")


def check_x86(path, stride, count):
    """Checks straight-line code, or branches."""
    data = section(path, r"\.text")
    found = [match.start() for match in re.finditer(rb"\x48\x8d\x05....[\x48\x49\x4c\x4d]\x29.\xff\xe0", data, re.S)]
    require(len(found) == 1, "the code is entered in %d places", len(found))
    end = found[0] + 7 + struct.unpack_from("<i", data, found[0] + 3)[0]
    node = NOPL if stride == 0 else b"\xe9" + struct.pack("<i", stride - 5) + b"\xcc" * (stride - 5)
    require(data[end - len(node) * count:end] == node * count, "the code has other instructions")
    loop = re.match(rb"[\x41]?\x83.\x01(?:\x0f\x84(....)|\x74(.))\xff\xe0", data[end:], re.S)
    if not loop:  # the short form for eax
        loop = re.match(rb"\x2d\x01\0\0\0(?:\x0f\x84(....)|\x74(.))\xff\xe0", data[end:], re.S)
    require(loop, "the loop has other instructions")
    offset = struct.unpack("<i" if loop.group(1) else "<b", loop.group(1) or loop.group(2))[0]
    require(end + loop.end() - 2 + offset == found[0] + 12, "the loop does not continue after the branch to the entry")


def check_arm64(path, stride, count):
    """Checks straight-line code, or branches."""
    words = words_of(section(path, r"\.text"))
    first = [i for i, word in enumerate(words) if word & 0x9f00001f == 0x10000009]  # adr x9
    require(len(first) == 1 and words[first[0] + 2] == 0xd61f0120, "the code is entered in another way")
    immediate = (words[first[0]] >> 5 & 0x7ffff) << 2 | words[first[0]] >> 29 & 3
    end = first[0] + immediate // 4
    step = max(stride // 4, 1)
    expected = 0xd503201f if stride == 0 else 0x14000000 | step
    require(all(word == expected for word in words[end - step * count:end:step]), "the code has other instructions")
    require(words[end] & 0xfffffc00 == 0x71000400 and words[end + 1] & 0xff00001f == 0x54000000 and words[end + 2] == 0xd61f0120,
            "the loop has other instructions")
    offset = words[end + 1] >> 5 & 0x7ffff
    following = end + 1 + (offset - (1 << 19) if offset >> 18 else offset)
    require(following == first[0] + 3, "the loop does not continue after the branch to the entry")
