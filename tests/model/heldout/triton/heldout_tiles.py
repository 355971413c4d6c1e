"""Triton kernels on tiles: products of matrices, attention, transposition, scans and gathers."""
import triton
import triton.language as tl

from heldout_cases import case, f16, f32, i32


@triton.jit
def product(c, a, b, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    tile = tl.program_id(0)
    down = tl.cdiv(m, BM)
    across = tl.cdiv(n, BN)
    group = tile // (GROUP * across)
    height = min(down - group * GROUP, GROUP)
    pm = group * GROUP + (tile % (GROUP * across)) % height
    pn = (tile % (GROUP * across)) // height
    rows = pm * BM + tl.arange(0, BM)
    columns = pn * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    pa = a + rows[:, None] * k + inner[None, :]
    pb = b + inner[:, None] * n + columns[None, :]
    sums = tl.zeros([BM, BN], tl.float32)
    for _ in range(0, k, BK):
        sums = tl.dot(tl.load(pa), tl.load(pb), sums)
        pa += BK
        pb += BK * n
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16))


@triton.jit
def flash(out, q, k, v, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BM
    base = tl.program_id(1) * length * D
    rows = start + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + d[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    sums = tl.zeros([BM, D], tl.float32)
    end = start + BM if CAUSAL else length
    for first in range(0, end, BN):
        columns = first + tl.arange(0, BN)
        key = tl.load(k + base + columns[None, :] * D + d[:, None])
        scores = tl.dot(query, key) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1e30)
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        factor = tl.exp2(top - higher)
        total = total * factor + tl.sum(p, 1)
        value = tl.load(v + base + columns[:, None] * D + d[None, :])
        sums = tl.dot(p.to(tl.float16), value, sums * factor[:, None])
        top = higher
    tl.store(out + base + rows[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def paged_decode(out, q, keys, values, table, lengths, scale, PAGES: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr,
                 HEADS: tl.constexpr):
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    t = tl.arange(0, PAGE)
    query = tl.load(q + (sequence * HEADS + head) * D + d).to(tl.float32)
    length = tl.load(lengths + sequence)
    top = -float("inf")
    total = 0.0
    sums = tl.zeros([D], tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        place = tl.load(table + sequence * PAGES + page)
        inside = page * PAGE + t < length
        offsets = ((place * PAGE + t[:, None]) * HEADS + head) * D + d[None, :]
        key = tl.load(keys + offsets, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(key * query[None, :], 1) * scale, -1e30)
        higher = tl.maximum(top, tl.max(scores, 0))
        p = tl.exp2(scores - higher)
        factor = tl.exp2(top - higher)
        total = total * factor + tl.sum(p, 0)
        value = tl.load(values + offsets, mask=inside[:, None], other=0.0).to(tl.float32)
        sums = sums * factor + tl.sum(p[:, None] * value, 0)
        top = higher
    tl.store(out + (sequence * HEADS + head) * D + d, (sums / total).to(tl.float16))


@triton.jit
def embedding(out, table, tokens, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.arange(0, WIDTH)
    rows = tl.load(tokens + first)
    v = tl.load(table + rows[:, None] * WIDTH + i[None, :])
    tl.store(out + first[:, None] * WIDTH + i[None, :], v)


@triton.jit
def row_cumsum(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    before = 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + i)
        tl.store(out + row * columns + i, tl.cumsum(v, 0) + before)
        before += tl.sum(v, 0)


@triton.jit
def transposed_copy(out, x, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + r[:, None] * columns + c[None, :])
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v))


@triton.jit
def causal_conv(out, x, weight, length, channels, WIDTH: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2) * length * channels
    sums = tl.zeros([BT, BC], tl.float32)
    for w in tl.static_range(WIDTH):
        past = t - (WIDTH - 1) + w
        v = tl.load(x + base + past[:, None] * channels + c[None, :], mask=past[:, None] >= 0, other=0.0).to(tl.float32)
        sums += v * tl.load(weight + c * WIDTH + w).to(tl.float32)[None, :]
    tl.store(out + base + t[:, None] * channels + c[None, :], (sums * tl.sigmoid(sums)).to(tl.float16))


def cases():
    def product_case(name, m, n, k, bm, bn, bk, group, warps, stages):
        return case(name, product, (m // bm * (n // bn),), {"c": f16(m * n), "a": f16(m * k, "random"), "b": f16(k * n, "random")},
                    ["c", "a", "b", m, n, k], {"BM": bm, "BN": bn, "BK": bk, "GROUP": group}, num_warps=warps, num_stages=stages)

    def flash_case(name, heads, length, d, bm, bn, causal, warps):
        size = heads * length * d
        return case(name, flash, (length // bm, heads),
                    {"out": f16(size), "q": f16(size, "random"), "k": f16(size, "random"), "v": f16(size, "random")},
                    ["out", "q", "k", "v", length, 0.18], {"D": d, "BM": bm, "BN": bn, "CAUSAL": causal}, num_warps=warps, num_stages=2)

    return [
        product_case("product_wide", 1536, 1536, 1024, 128, 128, 64, 8, 8, 3),
        product_case("product_narrow", 2048, 640, 512, 64, 32, 32, 1, 4, 4),
        flash_case("flash_full", 48, 512, 64, 128, 64, False, 8),
        flash_case("flash_causal", 24, 1024, 64, 64, 64, True, 4),
        case("paged_decode", paged_decode, (64, 8),
             {"out": f16(64 * 8 * 64), "q": f16(64 * 8 * 64, "random"), "keys": f16(2048 * 16 * 8 * 64, "random"),
              "values": f16(2048 * 16 * 8 * 64, "random"), "table": i32(64 * 64, "random(0,2047)"), "lengths": i32(64, "random(200,1024)")},
             ["out", "q", "keys", "values", "table", "lengths", 0.18], {"PAGES": 64, "PAGE": 16, "D": 64, "HEADS": 8}),
        case("embedding", embedding, (5000,),
             {"out": f16(20000 * 256), "table": f16(30000 * 256, "random"), "tokens": i32(20000, "random(0,29999)")},
             ["out", "table", "tokens"], {"WIDTH": 256, "BLOCK": 4}),
        case("row_cumsum", row_cumsum, (1200,), {"out": f32(1200 * 4096), "x": f32(1200 * 4096, "random")},
             ["out", "x", 4096], {"BLOCK": 1024}),
        case("transposed_copy", transposed_copy, (40, 48), {"out": f32(2560 * 3072), "x": f32(2560 * 3072, "random")},
             ["out", "x", 2560, 3072], {"BM": 64, "BN": 64}),
        case("causal_conv", causal_conv, (32, 12, 4), {"out": f16(4 * 1024 * 768), "x": f16(4 * 1024 * 768, "random"), "weight": f16(768 * 4, "random")},
             ["out", "x", "weight", 1024, 768], {"WIDTH": 4, "BT": 32, "BC": 64}),
    ]
