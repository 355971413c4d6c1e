"""Triton matrix products: with pointers, with tensor descriptors of the device and of the host, persistent, warp specialised,
grouped, and as a convolution.

collect.py compiles and runs the cases of this file.
"""
import torch
import triton
import triton.language as tl

from cases import Case, Descriptor, buffer, noise


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BLOCK_M: tl.constexpr,
           BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (depth[None, :] < K - k * BLOCK_K), other=0.0)
        b = tl.load(b_ptrs, mask=(columns[None, :] < N) & (depth[:, None] < K - k * BLOCK_K), other=0.0)
        sums = tl.dot(a, b, sums, input_precision=PRECISION, out_dtype=SUM)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn, sums.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def matmul_integers(a_ptr, b_ptr, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + k + depth[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + k + depth[:, None])
        sums = tl.dot(a, b, sums, out_dtype=tl.int32)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def matmul_device_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                              B_TRANSPOSED: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BLOCK_M, BLOCK_K])
    if B_TRANSPOSED:
        b_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BLOCK_N, BLOCK_K])
    else:
        b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        if B_TRANSPOSED:
            b = b_desc.load([column, k]).T
        else:
            b = b_desc.load([k, column])
        sums = tl.dot(a, b, sums)
    c_desc.store([row, column], sums.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_host_descriptors(a_desc, b_desc, c_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        b = b_desc.load([column, k])
        sums = tl.dot(a, b.T, sums)
    c_desc.store([row, column], sums.to(c_desc.dtype))


@triton.jit
def matmul_persistent(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                      PROGRAMS: tl.constexpr, SPECIALISE: tl.constexpr, FLATTEN: tl.constexpr):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN, warp_specialize=SPECIALISE):
        row = (tile // tiles_n) * BLOCK_M
        column = (tile % tiles_n) * BLOCK_N
        sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, k * BLOCK_K])
            b = b_desc.load([column, k * BLOCK_K])
            sums = tl.dot(a, b.T, sums)
        c_desc.store([row, column], sums.to(c_desc.dtype))


@triton.jit
def matmul_specialised(a_desc, b_desc, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BLOCK_K), warp_specialize=True):
        a = a_desc.load([row, k * BLOCK_K])
        b = b_desc.load([column, k * BLOCK_K])
        sums = tl.dot(a, b.T, sums)
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_grouped(a_ptr, b_ptr, c_ptr, m_ptr, a_start_ptr, c_start_ptr, groups, N: tl.constexpr, K: tl.constexpr,
                   PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tile = tl.program_id(0)
    before = 0
    for g in range(groups):
        m = tl.load(m_ptr + g)
        a_start = tl.load(a_start_ptr + g)
        c_start = tl.load(c_start_ptr + g)
        tiles_n: tl.constexpr = N // BLOCK_N
        tiles = tl.cdiv(m, BLOCK_M) * tiles_n
        while tile >= before and tile < before + tiles:
            rows = (tile - before) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = (tile - before) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            depth = tl.arange(0, BLOCK_K)
            sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                a = tl.load(a_ptr + a_start + rows[:, None] * K + k + depth[None, :], mask=rows[:, None] < m, other=0.0)
                b = tl.load(b_ptr + g * K * N + (k + depth[:, None]) * N + columns[None, :])
                sums = tl.dot(a, b, sums)
            tl.store(c_ptr + c_start + rows[:, None] * N + columns[None, :], sums.to(tl.float16), mask=rows[:, None] < m)
            tile += PROGRAMS
        before += tiles


@triton.jit
def convolution(x_ptr, w_ptr, out_ptr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CHANNELS: tl.constexpr, FILTERS: tl.constexpr,
                BLOCK: tl.constexpr):
    """Convolves x[HEIGHT][WIDTH][CHANNELS] with w[3][3][CHANNELS][FILTERS]; beyond the edges x is 0."""
    points = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = points // WIDTH
    x = points % WIDTH
    channels = tl.arange(0, CHANNELS)
    filters = tl.arange(0, FILTERS)
    sums = tl.zeros((BLOCK, FILTERS), dtype=tl.float32)
    for tap in range(9):
        source_y = y + tap // 3 - 1
        source_x = x + tap % 3 - 1
        inside = (source_y >= 0) & (source_y < HEIGHT) & (source_x >= 0) & (source_x < WIDTH) & (points < HEIGHT * WIDTH)
        a = tl.load(x_ptr + (source_y * WIDTH + source_x)[:, None] * CHANNELS + channels[None, :], mask=inside[:, None], other=0.0)
        b = tl.load(w_ptr + (tap * CHANNELS + channels)[:, None] * FILTERS + filters[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(out_ptr + points[:, None] * FILTERS + filters[None, :], sums.to(tl.float16), mask=(points < HEIGHT * WIDTH)[:, None])


def _product(t):
    return t["a"].double() @ t["b"].double()


def _product_transposed(t):
    return t["a"].double() @ t["b"].double().T


def pointer_case(name, group, kind, shape, block, result="f32", precision="tf32", total=tl.float32, b_transposed=False, **rest):
    """Returns a case of `matmul`. shape and block are (M, N, K)."""
    m, n, k = shape
    if b_transposed:
        b_shape, strides, reference = (n, k), [1, k], _product_transposed
    else:
        b_shape, strides, reference = (k, n), [n, 1], _product
    options = {"num_warps": rest.pop("num_warps", 4), "num_stages": rest.pop("num_stages", 3)}
    if "num_ctas" in rest:
        options["num_ctas"] = rest.pop("num_ctas")
    return Case(name, group, matmul, (-(-m // block[0]), -(-n // block[1])),
                {"a": buffer(kind, (m, k), noise(0.37)), "b": buffer(kind, b_shape, noise(0.73)), "c": buffer(result, (m, n))},
                ["a", "b", "c", m, n, k, k, 1, *strides, n, 1],
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "PRECISION": precision, "SUM": total},
                {"c": reference}, options, **rest)


def device_case(name, kind, shape, block, result, b_transposed, **options):
    """Returns a case of `matmul_device_descriptors`."""
    m, n, k = shape
    return Case(name, "descriptors", matmul_device_descriptors, (m // block[0], n // block[1]),
                {"a": buffer(kind, (m, k), noise(0.37)), "b": buffer(kind, (n, k) if b_transposed else (k, n), noise(0.73)),
                 "c": buffer(result, (m, n))},
                ["a", "b", "c", m, n, k],
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], "B_TRANSPOSED": b_transposed},
                {"c": _product_transposed if b_transposed else _product}, options)


def host_case(name, group, kernel, kind, shape, block, result, constants, arguments, grid, **options):
    """Returns a case of a kernel with descriptors of the host for a, b (transposed) and c."""
    m, n, k = shape
    return Case(name, group, kernel, grid,
                {"a": buffer(kind, (m, k), noise(0.37)), "b": buffer(kind, (n, k), noise(0.73)), "c": buffer(result, (m, n))},
                [Descriptor("a", [m, k], [block[0], block[2]]), Descriptor("b", [n, k], [block[1], block[2]]),
                 Descriptor("c", [m, n], [block[0], block[1]]), *arguments],
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2], **constants}, {"c": _product_transposed}, options)


def _specialised_case(name, kind, shape, block, **options):
    m, n, k = shape
    return Case(name, "persistent", matmul_specialised, (m // block[0], n // block[1]),
                {"a": buffer(kind, (m, k), noise(0.37)), "b": buffer(kind, (n, k), noise(0.73)), "c": buffer("f16", (m, n))},
                [Descriptor("a", [m, k], [block[0], block[2]]), Descriptor("b", [n, k], [block[1], block[2]]), "c", n, k],
                {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_K": block[2]}, {"c": _product_transposed}, options)


def _grouped_reference(t):
    out = torch.zeros_like(t["c"])
    for g, (m, a, c) in enumerate(zip(t["m"].tolist(), t["a_start"].tolist(), t["c_start"].tolist())):
        part = t["a"].flatten()[a:a + m * 64].reshape(m, 64).float() @ t["b"][g].float()
        out.view(-1)[c:c + m * 128] = part.half().flatten()
    return out


def _convolution_reference(t):
    x = t["x"].float().permute(2, 0, 1)[None]
    w = t["w"].float().reshape(3, 3, 32, 64).permute(3, 2, 0, 1)
    return torch.nn.functional.conv2d(x, w, padding=1)[0].permute(1, 2, 0)


def _grouped_case():
    # Group g has 48 (g + 1) rows: 48, 96, 144. Its part of a starts at row 48 g (g + 1) / 2.
    return Case("matmul_grouped", "products", matmul_grouped, (4,),
                {"a": buffer("f16", (288, 64), noise(0.37)), "b": buffer("f16", (3, 64, 128), noise(0.73)),
                 "c": buffer("f16", (288, 128)),
                 "m": buffer("i32", (3,), "48*(i+1)"), "a_start": buffer("i32", (3,), "24*i*(i+1)*64"),
                 "c_start": buffer("i32", (3,), "24*i*(i+1)*128")},
                ["a", "b", "c", "m", "a_start", "c_start", 3],
                {"N": 128, "K": 64, "PROGRAMS": 4, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, {"c": _grouped_reference},
                {"num_warps": 4})


def _pointer_cases():
    f32 = tl.float32
    return [
        pointer_case("matmul_f16", "matmul", "f16", (128, 128, 128), (128, 64, 64), "f16", num_warps=8),
        pointer_case("matmul_f16_edges", "matmul", "f16", (100, 72, 80), (64, 64, 32), "f32"),
        pointer_case("matmul_f16_sums", "matmul", "f16", (64, 128, 64), (64, 64, 32), "f16", total=tl.float16),
        pointer_case("matmul_bf16", "matmul", "bf16", (128, 128, 128), (64, 128, 64), "bf16"),
        pointer_case("matmul_bf16_transposed", "matmul", "bf16", (64, 128, 96), (64, 64, 32), "f32", b_transposed=True),
        pointer_case("matmul_tf32", "matmul", "f32", (128, 64, 64), (64, 64, 32), "f32", b_transposed=True),
        pointer_case("matmul_tf32_registers", "matmul", "f32", (64, 64, 64), (64, 64, 32), "f32"),
        pointer_case("matmul_tf32x3", "matmul", "f32", (64, 64, 64), (64, 64, 32), "f32", precision="tf32x3", tolerance=1e-4),
        pointer_case("matmul_ieee", "matmul", "f32", (64, 64, 32), (32, 32, 32), "f32", precision="ieee", tolerance=1e-5),
        pointer_case("matmul_f64", "products", "f64", (32, 32, 32), (32, 32, 16), "f64", total=tl.float64, tolerance=1e-12),
        pointer_case("matmul_e4m3", "products", "e4m3", (64, 128, 128), (64, 64, 64), "f32", b_transposed=True),
        pointer_case("matmul_e5m2", "products", "e5m2", (64, 128, 128), (64, 64, 64), "f16", b_transposed=True),
        pointer_case("matmul_small_f16", "products", "f16", (64, 64, 64), (16, 32, 32), "f32", num_warps=2, total=f32),
        pointer_case("matmul_small_bf16", "products", "bf16", (64, 64, 64), (32, 32, 32), "bf16", num_warps=4),
        pointer_case("matmul_small_tf32", "products", "f32", (64, 64, 64), (32, 32, 32), "f32", num_warps=4),
        pointer_case("matmul_clusters", "products", "f16", (128, 128, 64), (64, 128, 32), "f16", num_warps=4, num_ctas=2),
        Case("matmul_integers", "products", matmul_integers, (1, 2),
             {"a": buffer("i8", (64, 128), "(i*7919)%255-127"), "b": buffer("i8", (128, 128), "(i*104729)%255-127"),
              "c": buffer("i32", (64, 128))},
             ["a", "b", "c", 128, 128], {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64},
             {"c": lambda t: (t["a"].double() @ t["b"].double().T).int()}, tolerance=0),
        _grouped_case(),
        Case("convolution", "products", convolution, (4,),
             {"x": buffer("f16", (14, 18, 32), noise(0.37)), "w": buffer("f16", (9 * 32, 64), noise(0.73)),
              "out": buffer("f16", (14 * 18, 64))},
             ["x", "w", "out"], {"HEIGHT": 14, "WIDTH": 18, "CHANNELS": 32, "FILTERS": 64, "BLOCK": 64},
             {"out": lambda t: _convolution_reference(t).reshape(14 * 18, 64)}),
    ]


def _host_case(name, kind, shape, block, result, num_stages):
    grid = (-(-shape[0] // block[0]), -(-shape[1] // block[1]))
    return host_case(name, "descriptors", matmul_host_descriptors, kind, shape, block, result, {}, [shape[2]], grid, num_warps=4,
                     num_stages=num_stages)


def _persistent_case(name, **constants):
    shape, block = (128, 192, 128), (64, 64, 64)
    return host_case(name, "persistent", matmul_persistent, "f16", shape, block, "f16",
                     {"PROGRAMS": 2, "SPECIALISE": False, "FLATTEN": False, **constants}, list(shape), (2,), num_warps=4,
                     num_stages=3)


def _descriptor_cases():
    return [
        device_case("device_f16", "f16", (128, 128, 128), (128, 64, 64), "f16", False, num_warps=8, num_stages=3),
        device_case("device_bf16", "bf16", (128, 64, 128), (64, 64, 32), "f32", True, num_warps=4, num_stages=3),
        device_case("device_e4m3", "e4m3", (128, 128, 256), (64, 128, 128), "f16", True, num_warps=4, num_stages=3),
        device_case("device_tf32", "f32", (128, 64, 64), (64, 64, 32), "f32", True, num_warps=4, num_stages=2),
        _host_case("host_f16", "f16", (128, 128, 128), (128, 64, 64), "f16", 3),
        _host_case("host_bf16", "bf16", (128, 128, 96), (64, 64, 32), "bf16", 3),
        _host_case("host_tf32", "f32", (128, 64, 64), (64, 64, 32), "f32", 2),
        _host_case("host_e4m3", "e4m3", (128, 128, 256), (64, 128, 128), "f16", 3),
        _host_case("host_edges", "f16", (120, 104, 88), (64, 64, 64), "f16", 2),
        _persistent_case("persistent_f16"),
        _persistent_case("persistent_specialised", SPECIALISE=True),
        _persistent_case("persistent_flattened", FLATTEN=True),
        _specialised_case("specialised_f16", "f16", (128, 64, 128), (64, 64, 64), num_warps=4, num_stages=3),
        _specialised_case("specialised_halves", "f16", (128, 64, 128), (128, 64, 64), num_warps=4, num_stages=2),
        _specialised_case("specialised_e4m3", "e4m3", (64, 128, 256), (64, 128, 128), num_warps=4, num_stages=2),
    ]


def cases():
    """Returns the cases of this file."""
    return _pointer_cases() + _descriptor_cases()
