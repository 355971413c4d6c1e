"""What a Triton kernel of this set consists of: the kernel, its grid, its buffers and arguments, its constants and options."""
from cases import Case, buffer


def f16(count, contents=""):
    return buffer("f16", (count,), contents)


def f32(count, contents=""):
    return buffer("f32", (count,), contents)


def i32(count, contents=""):
    return buffer("i32", (count,), contents)


def i8(count, contents=""):
    return buffer("i8", (count,), contents)


def case(name, kernel, grid, buffers, arguments, constants, **options):
    """Returns a case of tests/modern/triton/cases.py without expected results."""
    return Case(name, "triton", kernel, grid, buffers, arguments, constants, {}, options)
