"""FlashAttention in Triton, forward and backward.

The kernels take q, k, v as [heads][rows][D]. The backward kernels take the logarithms of the row sums (`lse`, base 2) and the row
sums of o * do (`delta`) as input. Their cases pass arbitrary values, because the kernels compute the same formulas with any.

collect.py compiles and runs the cases of this file.
"""
import torch
import triton
import triton.language as tl

from cases import Case, Descriptor, buffer, noise

LOG2E = 1.4426950408889634


@triton.jit
def attention_forward(q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, rows, scale, D: tl.constexpr, BLOCK_M: tl.constexpr,
                      BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * rows * D
    m_offsets = start + tl.arange(0, BLOCK_M)
    n_offsets = tl.arange(0, BLOCK_N)
    d_offsets = tl.arange(0, D)
    q = tl.load(q_ptr + base + m_offsets[:, None] * D + d_offsets[None, :])
    highest = tl.full([BLOCK_M], -1e30, dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    sums = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    end = start + BLOCK_M if CAUSAL else rows
    for n in range(0, end, BLOCK_N):
        columns = n + n_offsets
        k = tl.load(k_ptr + base + columns[None, :] * D + d_offsets[:, None])
        s = tl.dot(q, k) * scale
        if CAUSAL:
            s = tl.where(m_offsets[:, None] >= columns[None, :], s, -1e30)
        new_highest = tl.maximum(highest, tl.max(s, axis=1))
        p = tl.math.exp2(s - new_highest[:, None])
        correction = tl.math.exp2(highest - new_highest)
        total = total * correction + tl.sum(p, axis=1)
        v = tl.load(v_ptr + base + columns[:, None] * D + d_offsets[None, :])
        sums = tl.dot(p.to(v.dtype), v, sums * correction[:, None])
        highest = new_highest
    tl.store(lse_ptr + tl.program_id(1) * rows + m_offsets, highest + tl.math.log2(total))
    tl.store(out_ptr + base + m_offsets[:, None] * D + d_offsets[None, :], (sums / total[:, None]).to(out_ptr.dtype.element_ty))


@triton.jit
def attention_descriptors(q_desc, k_desc, v_desc, out_desc, rows, scale, D: tl.constexpr, BLOCK_M: tl.constexpr,
                          BLOCK_N: tl.constexpr, SPECIALISE: tl.constexpr):
    start = tl.program_id(1) * rows + tl.program_id(0) * BLOCK_M
    q = q_desc.load([start, 0])
    highest = tl.full([BLOCK_M], -1e30, dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    sums = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for n in tl.range(0, rows, BLOCK_N, warp_specialize=SPECIALISE):
        k = k_desc.load([tl.program_id(1) * rows + n, 0])
        s = tl.dot(q, k.T) * scale
        new_highest = tl.maximum(highest, tl.max(s, axis=1))
        p = tl.math.exp2(s - new_highest[:, None])
        correction = tl.math.exp2(highest - new_highest)
        total = total * correction + tl.sum(p, axis=1)
        v = v_desc.load([tl.program_id(1) * rows + n, 0])
        sums = tl.dot(p.to(tl.float16), v, sums * correction[:, None])
        highest = new_highest
    out_desc.store([start, 0], (sums / total[:, None]).to(tl.float16))


@triton.jit
def attention_delta(out_ptr, do_ptr, delta_ptr, D: tl.constexpr, BLOCK_M: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offsets = rows[:, None] * D + tl.arange(0, D)[None, :]
    out = tl.load(out_ptr + offsets).to(tl.float32)
    do = tl.load(do_ptr + offsets).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * do, axis=1))


@triton.jit
def attention_dk_dv(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, rows, scale, D: tl.constexpr,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BLOCK_N
    base = tl.program_id(1) * rows * D
    columns = start + tl.arange(0, BLOCK_N)
    d_offsets = tl.arange(0, D)
    k = tl.load(k_ptr + base + columns[:, None] * D + d_offsets[None, :])
    v = tl.load(v_ptr + base + columns[:, None] * D + d_offsets[None, :])
    dk = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    first = start // BLOCK_M * BLOCK_M if CAUSAL else 0
    for m in range(first, rows, BLOCK_M):
        m_offsets = m + tl.arange(0, BLOCK_M)
        q = tl.load(q_ptr + base + m_offsets[:, None] * D + d_offsets[None, :])
        do = tl.load(do_ptr + base + m_offsets[:, None] * D + d_offsets[None, :])
        lse = tl.load(lse_ptr + tl.program_id(1) * rows + m_offsets)
        delta = tl.load(delta_ptr + tl.program_id(1) * rows + m_offsets)
        p = tl.math.exp2(tl.dot(k, tl.trans(q)) * (scale * 1.4426950408889634) - lse[None, :])
        if CAUSAL:
            p = tl.where(m_offsets[None, :] >= columns[:, None], p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv)
        ds = p * (tl.dot(v, tl.trans(do)) - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
    offsets = base + columns[:, None] * D + d_offsets[None, :]
    tl.store(dv_ptr + offsets, dv.to(dv_ptr.dtype.element_ty))
    tl.store(dk_ptr + offsets, (dk * scale).to(dk_ptr.dtype.element_ty))


@triton.jit
def attention_dq(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, rows, scale, D: tl.constexpr, BLOCK_M: tl.constexpr,
                 BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * rows * D
    m_offsets = start + tl.arange(0, BLOCK_M)
    d_offsets = tl.arange(0, D)
    q = tl.load(q_ptr + base + m_offsets[:, None] * D + d_offsets[None, :])
    do = tl.load(do_ptr + base + m_offsets[:, None] * D + d_offsets[None, :])
    lse = tl.load(lse_ptr + tl.program_id(1) * rows + m_offsets)
    delta = tl.load(delta_ptr + tl.program_id(1) * rows + m_offsets)
    dq = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    end = start + BLOCK_M if CAUSAL else rows
    for n in range(0, end, BLOCK_N):
        columns = n + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + columns[:, None] * D + d_offsets[None, :])
        v = tl.load(v_ptr + base + columns[:, None] * D + d_offsets[None, :])
        p = tl.math.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634) - lse[:, None])
        if CAUSAL:
            p = tl.where(m_offsets[:, None] >= columns[None, :], p, 0.0)
        ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    tl.store(dq_ptr + base + m_offsets[:, None] * D + d_offsets[None, :], (dq * scale).to(dq_ptr.dtype.element_ty))


def _scores(t, scale, causal):
    """Returns the scores in base 2, with the masked ones at minus infinity."""
    q, k = t["q"].double(), t["k"].double()
    s = q @ k.transpose(1, 2) * scale * LOG2E
    if causal:
        rows = s.shape[1]
        s = s.masked_fill(~torch.ones(rows, rows, dtype=torch.bool, device=s.device).tril(), -float("inf"))
    return s


def _forward(t, scale, causal=False):
    return torch.softmax(_scores(t, scale, causal) / LOG2E, 2) @ t["v"].double()


def _probabilities(t, scale, causal):
    return torch.exp2(_scores(t, scale, causal) - t["lse"].double()[:, :, None])


def _ds(t, scale, causal):
    p = _probabilities(t, scale, causal)
    return p * (t["do"].double() @ t["v"].double().transpose(1, 2) - t["delta"].double()[:, :, None])


def _forward_case(name, kind, heads, rows, width, blocks, causal, **options):
    scale = width ** -0.5
    shape = (heads, rows, width)
    return Case(name, "attention", attention_forward, (rows // blocks[0], heads),
                {"q": buffer(kind, shape, noise(0.37)), "k": buffer(kind, shape, noise(0.73)),
                 "v": buffer(kind, shape, noise(0.11)), "out": buffer(kind, shape), "lse": buffer("f32", (heads, rows))},
                ["q", "k", "v", "out", "lse", rows, scale * LOG2E],
                {"D": width, "BLOCK_M": blocks[0], "BLOCK_N": blocks[1], "CAUSAL": causal},
                {"out": lambda t: _forward(t, scale, causal), "lse": None}, options)


def _descriptor_case(name, specialise, **options):
    scale, heads, rows, width = 64 ** -0.5, 2, 128, 64
    shape = (heads, rows, width)
    flat = [heads * rows, width]
    return Case(name, "attention", attention_descriptors, (rows // 64, heads),
                {"q": buffer("f16", shape, noise(0.37)), "k": buffer("f16", shape, noise(0.73)),
                 "v": buffer("f16", shape, noise(0.11)), "out": buffer("f16", shape)},
                [Descriptor("q", flat, [64, width]), Descriptor("k", flat, [64, width]), Descriptor("v", flat, [64, width]),
                 Descriptor("out", flat, [64, width]), rows, scale * LOG2E],
                {"D": width, "BLOCK_M": 64, "BLOCK_N": 64, "SPECIALISE": specialise}, {"out": lambda t: _forward(t, scale)},
                options)


def _backward_cases(causal):
    scale, heads, rows, width = 64 ** -0.5, 2, 128, 64
    shape = (heads, rows, width)
    suffix = "_causal" if causal else ""
    inputs = {"q": buffer("f16", shape, noise(0.37)), "k": buffer("f16", shape, noise(0.73)),
              "v": buffer("f16", shape, noise(0.11)), "do": buffer("f16", shape, noise(0.19)),
              "lse": buffer("f32", (heads, rows), "7+" + noise(0.23)), "delta": buffer("f32", (heads, rows), noise(0.29))}
    names = ["q", "k", "v", "do", "lse", "delta"]
    constants = {"D": width, "BLOCK_M": 64, "BLOCK_N": 64, "CAUSAL": causal}
    options = {"num_warps": 4, "num_stages": 2}
    return [
        Case("attention_dk_dv" + suffix, "attention", attention_dk_dv, (rows // 64, heads),
             {**inputs, "dk": buffer("f16", shape), "dv": buffer("f16", shape)}, [*names, "dk", "dv", rows, scale], constants,
             {"dv": lambda t: _probabilities(t, scale, causal).transpose(1, 2) @ t["do"].double(),
              "dk": lambda t: _ds(t, scale, causal).transpose(1, 2) @ t["q"].double() * scale}, options),
        Case("attention_dq" + suffix, "attention", attention_dq, (rows // 64, heads), {**inputs, "dq": buffer("f16", shape)},
             [*names, "dq", rows, scale], constants, {"dq": lambda t: _ds(t, scale, causal) @ t["k"].double() * scale}, options),
    ]


def cases():
    """Returns the cases of this file."""
    return [
        _forward_case("attention_forward", "f16", 2, 128, 64, (64, 64), False, num_warps=4, num_stages=2),
        _forward_case("attention_causal", "bf16", 1, 256, 64, (128, 64), True, num_warps=8, num_stages=3),
        _descriptor_case("attention_host", False, num_warps=4, num_stages=2),
        _descriptor_case("attention_specialised", True, num_warps=4, num_stages=2),
        Case("attention_delta", "attention", attention_delta, (2,),
             {"out": buffer("f16", (128, 64), noise(0.37)), "do": buffer("f16", (128, 64), noise(0.73)),
              "delta": buffer("f32", (128,))},
             ["out", "do", "delta"], {"D": 64, "BLOCK_M": 64},
             {"delta": lambda t: (t["out"].float() * t["do"].float()).sum(1)}, tolerance=1e-4),
        *_backward_cases(False),
        *_backward_cases(True),
    ]
