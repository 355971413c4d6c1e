"""Triton kernels without matrix products: element-wise, reductions, scans, gathers, histograms, sorting, random numbers.

collect.py compiles and runs the cases of this file.
"""
import torch
import triton
import triton.language as tl

from cases import Case, buffer, noise


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, mean_ptr, rstd_ptr, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
        centred = tl.where(offsets < columns, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        weight = tl.load(weight_ptr + offsets, mask=mask)
        bias = tl.load(bias_ptr + offsets, mask=mask)
        x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * columns + offsets, (x - mean) * rstd * weight + bias, mask=mask)


@triton.jit
def layer_norm_backward(dy_ptr, x_ptr, weight_ptr, dx_ptr, dw_ptr, epsilon, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + row * COLUMNS + offsets).to(tl.float32)
    dy = tl.load(dy_ptr + row * COLUMNS + offsets).to(tl.float32)
    weight = tl.load(weight_ptr + offsets)
    mean = tl.sum(x, axis=0) * (1 / COLUMNS)
    centred = x - mean
    rstd = tl.div_rn(1.0, tl.sqrt_rn(tl.sum(centred * centred, axis=0) * (1 / COLUMNS) + epsilon))
    normal = centred * rstd
    wdy = weight * dy
    c1 = tl.sum(normal * wdy, axis=0) * (1 / COLUMNS)
    c2 = tl.sum(wdy, axis=0) * (1 / COLUMNS)
    tl.store(dx_ptr + row * COLUMNS + offsets, (wdy - (normal * c1 + c2)) * rstd)
    tl.store(dw_ptr + row * COLUMNS + offsets, dy * normal)


@triton.jit
def gather_rows(table_ptr, index_ptr, out_ptr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    index = tl.load(index_ptr + rows)
    values = tl.load(table_ptr + index[:, None] * WIDTH + columns[None, :])
    tl.store(out_ptr + rows[:, None] * WIDTH + columns[None, :], values)


@triton.jit
def gather_axis(x_ptr, index_ptr, out_ptr, AXIS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    x = tl.load(x_ptr + offsets)
    index = tl.load(index_ptr + offsets)
    tl.store(out_ptr + offsets, tl.gather(x, index, AXIS))


@triton.jit
def histogram(x_ptr, out_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    counts = tl.histogram(x, BINS)
    missing = tl.maximum(tl.program_id(0) * BLOCK + BLOCK - n, 0)
    bins = tl.arange(0, BINS)
    counts = tl.where(bins == 0, counts - missing, counts)
    tl.atomic_add(out_ptr + bins, counts)


@triton.jit
def scan_sums(x_ptr, out_ptr, WIDTH: tl.constexpr, REVERSE: tl.constexpr):
    offsets = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.cumsum(x, axis=0, reverse=REVERSE))


@triton.jit
def _recurrence(a_left, b_left, a_right, b_right):
    return a_left * a_right, b_left * a_right + b_right


@triton.jit
def scan_recurrence(a_ptr, b_ptr, out_ptr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    offsets = rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    a = tl.load(a_ptr + offsets)
    b = tl.load(b_ptr + offsets)
    product, state = tl.associative_scan((a, b), 1, _recurrence)
    tl.store(out_ptr + offsets, state)


@triton.jit
def sort_rows(x_ptr, out_ptr, WIDTH: tl.constexpr):
    offsets = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(out_ptr + offsets, tl.sort(tl.load(x_ptr + offsets)))


@triton.jit
def reduce_rows(x_ptr, best_ptr, where_ptr, xor_ptr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
    best, where = tl.max(x, axis=1, return_indices=True)
    tl.store(best_ptr + rows, best)
    tl.store(where_ptr + rows, where)
    tl.store(xor_ptr + rows, tl.xor_sum(x, axis=1))


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, tl.div_rn(x, 1 - p), 0.0), mask=mask)


@triton.jit
def quantise(x_ptr, scale_ptr, out_ptr, back_ptr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    offsets = row * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(x_ptr + offsets).to(tl.float32)
    scale = tl.div_rn(tl.max(tl.abs(x), axis=0), 448.0)
    q = tl.div_rn(x, scale).to(out_ptr.dtype.element_ty)
    tl.store(scale_ptr + row, scale)
    tl.store(out_ptr + offsets, q)
    tl.store(back_ptr + offsets, q.to(tl.float32) * scale)


@triton.jit
def transpose(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))
    tl.store(out_ptr + c[:, None] * rows + r[None, :], tl.trans(x), mask=(c[:, None] < columns) & (r[None, :] < rows))


@triton.jit
def spin_add(lock_ptr, count_ptr, sum_ptr, x_ptr, WIDTH: tl.constexpr):
    offsets = tl.arange(0, WIDTH)
    x = tl.load(x_ptr + tl.program_id(0) * WIDTH + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sum_ptr + offsets, tl.load(sum_ptr + offsets) + x)
    tl.store(count_ptr, tl.load(count_ptr) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def _recurrence_reference(t):
    state = torch.zeros_like(t["a"][:, 0])
    out = torch.empty_like(t["a"])
    for column in range(t["a"].shape[1]):
        state = state * t["a"][:, column] + t["b"][:, column]
        out[:, column] = state
    return out


def _layer_norm_backward_reference(t):
    x = t["x"].float().detach().requires_grad_(True)
    y = torch.nn.functional.layer_norm(x, (x.shape[1],), t["w"], None, 1e-5)
    return torch.autograd.grad(y, x, t["dy"].float())[0]


def _xor(t):
    out = t["x"][:, 0]
    for column in range(1, t["x"].shape[1]):
        out = out ^ t["x"][:, column]
    return out


def _quantised(t):
    x = t["x"].float()
    scale = x.abs().amax(1, keepdim=True) / 448
    return (x / scale).to(torch.float8_e4m3fn).float() * scale


def cases():
    """Returns the cases of this file."""
    return [
        Case("vector_add", "rows", vector_add, (4,),
             {"x": buffer("f32", (1000,), noise(0.37)), "y": buffer("f32", (1000,), noise(0.73)), "out": buffer("f32", (1000,))},
             ["x", "y", "out", 1000], {"BLOCK": 256}, {"out": lambda t: t["x"] + t["y"]}, tolerance=0),
        Case("vector_add_bf16", "rows", vector_add, (2,),
             {"x": buffer("bf16", (2048,), noise(0.37)), "y": buffer("bf16", (2048,), noise(0.73)),
              "out": buffer("bf16", (2048,))},
             ["x", "y", "out", 2048], {"BLOCK": 1024}, {"out": lambda t: t["x"] + t["y"]}, tolerance=0),
        Case("softmax", "rows", softmax, (16,),
             {"x": buffer("f32", (16, 200), noise(0.37) + "*8"), "out": buffer("f32", (16, 200))},
             ["x", "out", 200, 200], {"BLOCK": 256}, {"out": lambda t: torch.softmax(t["x"], 1)}),
        Case("layer_norm", "rows", layer_norm, (8,),
             {"x": buffer("f16", (8, 300), noise(0.37) + "*3"), "w": buffer("f32", (300,), noise(0.73)),
              "b": buffer("f32", (300,), noise(0.11)), "out": buffer("f16", (8, 300)), "mean": buffer("f32", (8,)),
              "rstd": buffer("f32", (8,))},
             ["x", "w", "b", "out", "mean", "rstd", 300, 1e-5], {"BLOCK": 128},
             {"out": lambda t: torch.nn.functional.layer_norm(t["x"].float(), (300,), t["w"], t["b"], 1e-5), "mean": None,
              "rstd": None}),
        Case("layer_norm_backward", "rows", layer_norm_backward, (8,),
             {"dy": buffer("f16", (8, 256), noise(0.19)), "x": buffer("f16", (8, 256), noise(0.37) + "*3"),
              "w": buffer("f32", (256,), noise(0.73)), "dx": buffer("f32", (8, 256)), "dw": buffer("f32", (8, 256))},
             ["dy", "x", "w", "dx", "dw", 1e-5], {"COLUMNS": 256}, {"dx": _layer_norm_backward_reference, "dw": None}),
        Case("gather_rows", "indices", gather_rows, (2,),
             {"table": buffer("f32", (100, 64), noise(0.37)), "index": buffer("i32", (64,), "(i*7919)%100"),
              "out": buffer("f32", (64, 64))},
             ["table", "index", "out"], {"ROWS": 32, "WIDTH": 64}, {"out": lambda t: t["table"][t["index"].long()]}, tolerance=0),
        Case("gather_axis0", "indices", gather_axis, (1,),
             {"x": buffer("f32", (64, 32), noise(0.37)), "index": buffer("i32", (64, 32), "(i*7919)%64"),
              "out": buffer("f32", (64, 32))},
             ["x", "index", "out"], {"AXIS": 0, "ROWS": 64, "WIDTH": 32},
             {"out": lambda t: torch.gather(t["x"], 0, t["index"].long())}, tolerance=0),
        Case("gather_axis1", "indices", gather_axis, (1,),
             {"x": buffer("f32", (64, 32), noise(0.37)), "index": buffer("i32", (64, 32), "(i*7919)%32"),
              "out": buffer("f32", (64, 32))},
             ["x", "index", "out"], {"AXIS": 1, "ROWS": 64, "WIDTH": 32},
             {"out": lambda t: torch.gather(t["x"], 1, t["index"].long())}, tolerance=0),
        Case("histogram", "indices", histogram, (4,),
             {"x": buffer("i32", (4000,), "(i*i*31+i*7919)%256"), "out": buffer("i32", (256,))},
             ["x", "out", 4000], {"BINS": 256, "BLOCK": 1024},
             {"out": lambda t: torch.bincount(t["x"].cpu(), minlength=256).to(t["x"])}, tolerance=0),
        Case("scan_sums", "indices", scan_sums, (4,),
             {"x": buffer("f32", (4, 512), noise(0.37)), "out": buffer("f32", (4, 512))},
             ["x", "out"], {"WIDTH": 512, "REVERSE": False}, {"out": lambda t: torch.cumsum(t["x"], 1)}, tolerance=1e-4),
        Case("scan_reverse", "indices", scan_sums, (4,),
             {"x": buffer("i32", (4, 1024), "(i*7919)%1000"), "out": buffer("i32", (4, 1024))},
             ["x", "out"], {"WIDTH": 1024, "REVERSE": True},
             {"out": lambda t: torch.flip(torch.cumsum(torch.flip(t["x"], [1]), 1), [1]).int()}, tolerance=0),
        Case("scan_recurrence", "indices", scan_recurrence, (2,),
             {"a": buffer("f32", (16, 128), noise(0.37)), "b": buffer("f32", (16, 128), noise(0.73)),
              "out": buffer("f32", (16, 128))},
             ["a", "b", "out"], {"ROWS": 8, "WIDTH": 128}, {"out": _recurrence_reference}, tolerance=1e-4),
        Case("sort_rows", "indices", sort_rows, (2,),
             {"x": buffer("f32", (2, 128), noise(0.37)), "out": buffer("f32", (2, 128))},
             ["x", "out"], {"WIDTH": 128}, {"out": lambda t: torch.sort(t["x"], 1).values}, tolerance=0),
        Case("reduce_rows", "indices", reduce_rows, (1,),
             {"x": buffer("i32", (16, 64), "(i*i*31+i*7919)%65537"), "best": buffer("i32", (16,)), "where": buffer("i32", (16,)),
              "xor": buffer("i32", (16,))},
             ["x", "best", "where", "xor"], {"ROWS": 16, "WIDTH": 64},
             {"best": lambda t: t["x"].amax(1), "where": lambda t: t["x"].argmax(1).int(), "xor": _xor}, tolerance=0),
        Case("dropout", "rows", dropout, (4,),
             {"x": buffer("f32", (1000,), noise(0.37)), "out": buffer("f32", (1000,))},
             ["x", "out", 1000, 0.25, 123], {"BLOCK": 256}, {"out": None}),
        Case("quantise", "rows", quantise, (8,),
             {"x": buffer("bf16", (8, 256), noise(0.37) + "*5"), "scale": buffer("f32", (8,)), "out": buffer("e4m3", (8, 256)),
              "back": buffer("f32", (8, 256))},
             ["x", "scale", "out", "back"], {"WIDTH": 256}, {"scale": None, "out": None, "back": _quantised}, tolerance=0.1),
        Case("transpose", "rows", transpose, (2, 2),
             {"x": buffer("f32", (60, 50), noise(0.37)), "out": buffer("f32", (50, 60))},
             ["x", "out", 60, 50], {"BLOCK": 32}, {"out": lambda t: t["x"].T}, tolerance=0),
        Case("spin_add", "indices", spin_add, (6,),
             {"lock": buffer("i32", (1,)), "count": buffer("i32", (1,)), "sum": buffer("i32", (128,)),
              "x": buffer("i32", (6, 128), "(i*7919)%1000")},
             ["lock", "count", "sum", "x"], {"WIDTH": 128}, {"count": None, "sum": lambda t: t["x"].sum(0).int()}, tolerance=0),
    ]
