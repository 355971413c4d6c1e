"""Triton kernels on rows of matrices: one program per row, per group of rows or per tile."""
import triton
import triton.language as tl

from heldout_cases import case, f16, f32, i8, i32


@triton.jit
def row_softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + i, v / tl.sum(v, 0), mask=i < columns)


@triton.jit
def layer_norm_forward(out, x, weight, bias, means, scales, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
        total += v
        squares += v * v
    mean = tl.sum(total, 0) / columns
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns - mean * mean + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = i < columns
        v = tl.load(x + row * columns + i, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + i, mask=inside).to(tl.float32)
        b = tl.load(bias + i, mask=inside).to(tl.float32)
        tl.store(out + row * columns + i, ((v - mean) * scale * w + b).to(tl.float16), mask=inside)


@triton.jit
def layer_norm_backward(dx, dw_part, db_part, dy, x, weight, means, scales, rows, COLUMNS: tl.constexpr):
    first = tl.program_id(0)
    i = tl.arange(0, COLUMNS)
    w = tl.load(weight + i).to(tl.float32)
    dw = tl.zeros([COLUMNS], tl.float32)
    db = tl.zeros([COLUMNS], tl.float32)
    for row in range(first, rows, tl.num_programs(0)):
        v = tl.load(x + row * COLUMNS + i).to(tl.float32)
        g = tl.load(dy + row * COLUMNS + i).to(tl.float32)
        scale = tl.load(scales + row)
        normal = (v - tl.load(means + row)) * scale
        gw = g * w
        c1 = tl.sum(normal * gw, 0) / COLUMNS
        c2 = tl.sum(gw, 0) / COLUMNS
        tl.store(dx + row * COLUMNS + i, ((gw - normal * c1 - c2) * scale).to(tl.float16))
        dw += g * normal
        db += g
    tl.store(dw_part + first * COLUMNS + i, dw)
    tl.store(db_part + first * COLUMNS + i, db)


@triton.jit
def seeded_dropout(out, x, count, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < count)
    tl.store(out + i, tl.where(tl.rand(seed, i) > p, v / (1 - p), 0.0), mask=i < count)


@triton.jit
def add_gelu(out, x, bias, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i).to(tl.float32) + tl.load(bias + i).to(tl.float32)
    tl.store(out + row * columns + i, (0.5 * v * (1 + tl.erf(v * 0.7071067811865476))).to(tl.float16))


@triton.jit
def cross_entropy(loss, logits, labels, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(logits + row * columns + start + tl.arange(0, BLOCK)).to(tl.float32)
        higher = tl.maximum(top, v)
        total = total * tl.exp(top - higher) + tl.exp(v - higher)
        top = higher
    most = tl.max(top, 0)
    total = tl.sum(total * tl.exp(top - most), 0)
    label = tl.load(labels + row)
    tl.store(loss + row, tl.log(total) + most - tl.load(logits + row * columns + label).to(tl.float32))


@triton.jit
def group_norm(out, x, weight, bias, channels, pixels, eps, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(0)
    group = tl.program_id(1)
    base = (image * channels + group * GROUP) * pixels
    count = GROUP * pixels
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, count, BLOCK):
        v = tl.load(x + base + start + tl.arange(0, BLOCK)).to(tl.float32)
        total += v
        squares += v * v
    mean = tl.sum(total, 0) / count
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / count - mean * mean + eps)
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        channel = group * GROUP + i // pixels
        v = tl.load(x + base + i).to(tl.float32)
        v = (v - mean) * scale * tl.load(weight + channel) + tl.load(bias + channel)
        tl.store(out + base + i, v.to(tl.float16))


@triton.jit
def rotary(out, x, cosines, sines, positions, HEADS: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    i = tl.arange(0, HALF)
    place = tl.load(positions + token)
    c = tl.load(cosines + place * HALF + i)
    s = tl.load(sines + place * HALF + i)
    for head in range(HEADS):
        base = (token * HEADS + head) * 2 * HALF
        a = tl.load(x + base + i).to(tl.float32)
        b = tl.load(x + base + HALF + i).to(tl.float32)
        tl.store(out + base + i, (a * c - b * s).to(tl.float16))
        tl.store(out + base + HALF + i, (b * c + a * s).to(tl.float16))


@triton.jit
def row_argmax(out, x, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    best = tl.full([ROWS], -float("inf"), tl.float32)
    where = tl.zeros([ROWS], tl.int32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + rows[:, None] * columns + i[None, :])
        top = tl.max(v, 1)
        index = tl.argmax(v, 1) + start
        where = tl.where(top > best, index, where)
        best = tl.maximum(best, top)
    tl.store(out + rows, where)


@triton.jit
def quantise_rows(out, scales, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    scale = tl.max(tl.abs(v), 0) / 127
    tl.store(scales + row, scale)
    tl.store(out + row * columns + i, (v / scale).to(tl.int8), mask=i < columns)


def cases():
    return [
        case("row_softmax", row_softmax, (4096,), {"out": f32(4096 * 1500), "x": f32(4096 * 1500, "random(-4,4)")},
             ["out", "x", 1500], {"BLOCK": 2048}, num_warps=8),
        case("layer_norm_forward", layer_norm_forward, (2048,),
             {"out": f16(2048 * 3072), "x": f16(2048 * 3072, "random"), "weight": f16(3072, "random"), "bias": f16(3072, "random"),
              "means": f32(2048), "scales": f32(2048)},
             ["out", "x", "weight", "bias", "means", "scales", 3072, 1e-5], {"BLOCK": 1024}),
        case("layer_norm_backward", layer_norm_backward, (264,),
             {"dx": f16(6000 * 1024), "dw": f32(264 * 1024), "db": f32(264 * 1024), "dy": f16(6000 * 1024, "random"),
              "x": f16(6000 * 1024, "random"), "weight": f16(1024, "random"), "means": f32(6000, "random"),
              "scales": f32(6000, "random(1,2)")},
             ["dx", "dw", "db", "dy", "x", "weight", "means", "scales", 6000], {"COLUMNS": 1024}, num_warps=8),
        case("seeded_dropout", seeded_dropout, (4096,), {"out": f32(4096 * 1024), "x": f32(4096 * 1024, "random")},
             ["out", "x", 4096 * 1024, 0.25, 77], {"BLOCK": 1024}),
        case("add_gelu", add_gelu, (3000, 4), {"out": f16(3000 * 4096), "x": f16(3000 * 4096, "random(-2,2)"), "bias": f16(4096, "random")},
             ["out", "x", "bias", 4096], {"BLOCK": 1024}),
        case("cross_entropy", cross_entropy, (1000,),
             {"loss": f32(1000), "logits": f16(1000 * 16384, "random(-8,8)"), "labels": i32(1000, "random(0,16383)")},
             ["loss", "logits", "labels", 16384], {"BLOCK": 2048}, num_warps=8),
        case("group_norm", group_norm, (32, 16),
             {"out": f16(32 * 128 * 1024), "x": f16(32 * 128 * 1024, "random"), "weight": f32(128, "random"), "bias": f32(128, "random")},
             ["out", "x", "weight", "bias", 128, 1024, 1e-5], {"GROUP": 8, "BLOCK": 1024}),
        case("rotary", rotary, (2500,),
             {"out": f16(2500 * 16 * 128), "x": f16(2500 * 16 * 128, "random"), "cosines": f32(4096 * 64, "random"),
              "sines": f32(4096 * 64, "random"), "positions": i32(2500, "random(0,4095)")},
             ["out", "x", "cosines", "sines", "positions"], {"HEADS": 16, "HALF": 64}, num_warps=2),
        case("row_argmax", row_argmax, (1024,), {"out": i32(8192), "x": f32(8192 * 768, "random")},
             ["out", "x", 768], {"BLOCK": 256, "ROWS": 8}),
        case("quantise_rows", quantise_rows, (5000,), {"out": i8(5000 * 1100), "scales": f32(5000), "x": f32(5000 * 1100, "random(-1,1)")},
             ["out", "scales", "x", 1100], {"BLOCK": 2048}),
    ]
