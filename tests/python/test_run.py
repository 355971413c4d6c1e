"""Kernels that run in the PTX engine and on simulated GPUs, with all kinds of arguments."""

import array
import ctypes
import os
import pathlib
import struct
import tempfile
import unittest
from unittest import mock

import fathom
import numpy
from ptx_texts import AXPY, HEAD, PRINT, STORE

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tensor:
    """A tensor as PyTorch's, with what the module uses of it."""

    def __init__(self, values, dtype, device="cpu"):
        self.values, self.dtype = values, dtype
        self.device = type("device", (), {"type": device, "__str__": lambda _: device})()
        self.shape = values.shape

    def data_ptr(self):
        return self.values.ctypes.data

    def element_size(self):
        return self.values.itemsize

    def stride(self):
        return tuple(stride // self.values.itemsize for stride in self.values.strides)


def axpy(x, y, a=2.0, n=None, **options):
    """Runs the kernel for n elements, by default for all of x."""
    count = len(x) if n is None else n
    return fathom.run(AXPY, grid=-(-count // 64), block=64, args=[x, y, a, count], **options)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.x = numpy.arange(100, dtype=numpy.float32)
        self.y = numpy.full(100, 7, dtype=numpy.float32)
        self.expected = 2 * self.x + self.y

    def test_arrays_get_the_results(self):
        result = axpy(self.x, self.y)
        numpy.testing.assert_array_equal(self.x, self.expected)
        self.assertTrue((self.y == 7).all())
        self.assertEqual((result.kernels, result.seconds, result.output), (["axpy"], [None], ""))
        self.assertGreater(result.thread_instructions, 100 * 15)

    def test_simulated_gpus_give_the_same(self):
        axpy(self.x, self.y, device="sim:gtx980")
        numpy.testing.assert_array_equal(self.x, self.expected)

    def test_files_and_names_of_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "k.ptx"
            path.write_text(AXPY)
            fathom.run(path, "axpy", grid=(2, 1), block=[64, 1, 1], args=[self.x, self.y, 2, 100])
            numpy.testing.assert_array_equal(self.x, self.expected)
            with self.assertRaises(fathom.NotFound):
                fathom.run(str(path), "apxy", args=[self.x, self.y, 2, 100])

    def test_the_same_array_is_one_buffer(self):
        axpy(self.x, self.x)
        numpy.testing.assert_array_equal(self.x, 3 * numpy.arange(100))

    def test_views_of_an_array_share_its_buffer(self):
        expected = self.x.copy()
        expected[:40] = 2 * self.x[:40] + self.x[50:90]
        axpy(self.x, self.x[50:], n=40)
        numpy.testing.assert_array_equal(self.x, expected)
        both = numpy.arange(100, dtype=numpy.float32)
        axpy(both[30:70], both, n=5)
        self.assertEqual(list(both[28:36]), [28, 29, 60, 63, 66, 69, 72, 35])

    def test_views_that_overlap_in_part_are_refused(self):
        with self.assertRaisesRegex(fathom.Invalid, "arguments 1 and 2 share only a part of their memory"):
            axpy(self.x[:60], self.x[40:])

    def test_strided_views_have_the_memory_between_their_elements(self):
        wide = numpy.arange(20, dtype=numpy.float32).reshape(5, 4)
        axpy(wide[:, 1], self.y, n=3)  # the kernel sees adjacent elements, as on a GPU
        expected = numpy.arange(20, dtype=numpy.float32)
        expected[1:4] = 2 * expected[1:4] + 7
        numpy.testing.assert_array_equal(wide.ravel(), expected)
        turned = numpy.arange(6, dtype=numpy.float32).reshape(2, 3).T
        axpy(turned, self.y, n=6)
        numpy.testing.assert_array_equal(turned.T.ravel(), 2 * numpy.arange(6) + 7)

    def test_arrays_that_kernels_cannot_use_are_refused(self):
        with self.assertRaisesRegex(fathom.Invalid, "negative"):
            axpy(self.x[::-1], self.y)
        with self.assertRaisesRegex(fathom.Invalid, "big-endian"):
            axpy(self.x.astype(">f4"), self.y)
        for dtype in ([("a", ">f4")], [("a", "<i4"), ("b", [("c", "<f4"), ("d", ">i2")])]):
            with self.assertRaisesRegex(fathom.Invalid, "big-endian"):
                axpy(numpy.zeros(100, dtype), self.y)
        for dtype in (object, [("a", "<f4"), ("b", object)], [("a", [("b", object)])]):
            with self.assertRaisesRegex(fathom.Invalid, "argument '2'.*Python objects.*astype"):
                axpy(self.x, numpy.zeros(100, dtype))
        cupy = type("ndarray", (), {"__cuda_array_interface__": {}})()
        with self.assertRaisesRegex(fathom.Invalid, "argument '2'.*memory of a GPU.*array.get"):
            axpy(self.x, cupy)

    def test_read_only_arrays_are_inputs(self):
        self.y.flags.writeable = False
        axpy(self.x, self.y)
        numpy.testing.assert_array_equal(self.x, self.expected)
        before = self.y.copy()
        with self.assertRaisesRegex(fathom.Invalid, "argument '1'.*read-only"):
            axpy(self.y, self.x)
        numpy.testing.assert_array_equal(self.y, before)

    def test_read_only_views_of_outputs_may_change(self):
        view = self.x[:]
        view.flags.writeable = False
        axpy(self.x, view)
        numpy.testing.assert_array_equal(self.x, 3 * numpy.arange(100))
        axpy(view, self.x)  # the writable array has the same memory
        numpy.testing.assert_array_equal(self.x, 9 * numpy.arange(100))
        axpy(view, self.x[:10], n=10)
        self.assertEqual(self.x[5], 9 * 3 * 5)
        before = self.x.copy()
        with self.assertRaisesRegex(fathom.Invalid, "argument '1'.*read-only"):
            axpy(view, self.x[50:60], n=10)  # writes outside of what is writable
        numpy.testing.assert_array_equal(self.x, before)

    def test_a_failed_run_changes_no_array(self):
        module = HEAD + """.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    st.global.u32 [%rd1], 1;
    st.global.u32 [%rd2], 1;
    ret;
}
"""
        self.y.flags.writeable = False
        with self.assertRaisesRegex(fathom.Invalid, "argument '2'.*read-only"):
            fathom.run(module, args=[self.x, self.y])
        self.assertEqual(self.x[0], 0)

    def test_accesses_outside_of_an_array_fail(self):
        with self.assertRaises(fathom.Invalid) as caught:
            axpy(self.x, self.y[:50])
        self.assertIn("axpy", str(caught.exception))
        self.assertIn("line 24 (ld.global.f32)", str(caught.exception))
        numpy.testing.assert_array_equal(self.x, numpy.arange(100))  # a failed run changes nothing

    def test_other_memory(self):
        memory = array.array("f", range(100))
        axpy(memory, bytearray(self.y.tobytes()), n=100)
        numpy.testing.assert_array_equal(numpy.array(memory), self.expected)
        with self.assertRaisesRegex(fathom.Invalid, "argument '2'.*read-only"):
            axpy(memory, memoryview(self.y.tobytes()), n=100)

    def test_arrays_without_dimensions_are_buffers(self):
        x, y = numpy.array(3, numpy.float32), numpy.array(5, numpy.float32)
        axpy(x, y, n=1)
        self.assertEqual((x, y), (11, 5))

    def test_tensors(self):
        x = Tensor(self.x, "torch.float32")
        fathom.run(AXPY, grid=2, block=64, args=[x, Tensor(self.y, "torch.float32"), 2.0, 100])
        numpy.testing.assert_array_equal(self.x, self.expected)
        with self.assertRaisesRegex(fathom.Invalid, "tensor.cpu"):
            fathom.run(AXPY, args=[Tensor(self.x, "torch.float32", "cuda:0"), self.y, 2.0, 100])

    def test_types_of_elements(self):
        from fathom._arguments import memory_of

        for dtype, kind, factor in [("float16", "f16", 1), ("float64", "f64", 1), ("int8", "s8", 1), ("uint64", "u64", 1),
                                    ("bool", "u8", 1), ("complex64", "f32", 2), ("S3", "u8", 3), ("datetime64[s]", "u8", 8)]:
            memory = memory_of(numpy.zeros((3, 2), dtype), 1)
            self.assertEqual((memory.type, memory.count), (kind, 6 * factor), dtype)
        self.assertEqual(memory_of(Tensor(numpy.zeros(4, "uint16"), "torch.bfloat16"), 1).type, "bf16")
        self.assertEqual(memory_of(numpy.zeros((0, 4)), 1).count, 0)


class Numbers(unittest.TestCase):
    def store(self, parts, number, half, byte):
        to = numpy.zeros(27, numpy.uint8)
        fathom.run(STORE, block=1, args=[to, parts, number, half, byte])
        return to.tobytes()

    def test_structs_and_typed_numbers(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]

        packed = struct.pack("=i4xdq", -5, 0.5, -3)
        half = numpy.float16(1.5)
        for parts in [Pair(-5, 0.5), bytes(Pair(-5, 0.5)), "{i32:-5,f64:0.5}"]:
            stored = self.store(parts, -3, half, numpy.bool_(True))
            self.assertEqual(stored, packed + half.tobytes() + b"\x01")
        self.assertEqual(self.store(bytes(16), None, "u16:9", numpy.uint8(200))[16:], bytes(8) + b"\x09\0\xc8")

    def test_numbers_of_ctypes(self):
        stored = self.store(bytes(16), ctypes.c_int64(-3), ctypes.c_uint16(9), ctypes.c_uint8(200))
        self.assertEqual(stored[16:], struct.pack("=qHB", -3, 9, 200))
        x, y = numpy.ones(2, numpy.float32), numpy.zeros(2, numpy.float32)
        fathom.run(AXPY, block=64, args=[x, y, ctypes.c_float(2.5), ctypes.c_int(1)])
        self.assertEqual(list(x), [2.5, 1])

    def test_python_numbers_have_the_type_of_the_parameter(self):
        x, y = numpy.ones(2, numpy.float32), numpy.zeros(2, numpy.float32)
        for a, expected in [(3, 3), (0.1, numpy.float32(0.1)), (True, 1), (float("inf"), numpy.inf), (-1e-3, numpy.float32(-1e-3))]:
            x[:] = 1
            axpy(x, y, a)
            self.assertEqual(x[0], expected)
        axpy(x, y, float("nan"))
        self.assertTrue(numpy.isnan(x).all())

    def test_wrong_arguments_are_refused(self):
        x = numpy.zeros(4, numpy.float32)
        for args, message in [
            ([x, x, 1.0], "takes 4 arguments"),
            ([x, x, 1.0, 1.5], "not an integer"),
            ([x, x, 1.0, numpy.int64(4)], "argument 4 has 8 bytes"),
            ([x, x, 1.0, {}], "a dict cannot be an argument"),
        ]:
            with self.assertRaisesRegex(fathom.Invalid, message):
                fathom.run(AXPY, args=args)
        with self.assertRaisesRegex(fathom.Invalid, "one to three"):
            fathom.run(AXPY, grid=(1, 2, 3, 4), args=[x, x, 1.0, 4])
        for grid in (0, 1.9, (1.9,), "1", (1, None), numpy.zeros((1, 1), int)):
            with self.assertRaisesRegex(fathom.Invalid, "grid '.*one to three"):
                fathom.run(AXPY, grid=grid, args=[x, x, 1.0, 4])
        for args in (x, bytearray(4), "i32:5", {}):
            with self.assertRaisesRegex(fathom.Invalid, "expected a list of the arguments"):
                fathom.run(AXPY, args=args)

    def test_shapes_of_numpy(self):
        for shape in (numpy.int64(2), numpy.array(2), (numpy.uint8(2),), numpy.array([2, 1])):
            x = numpy.ones(128, numpy.float32)
            fathom.run(AXPY, grid=shape, block=(numpy.int32(64), 1), args=[x, x, 1.0, 128])
            self.assertTrue((x == 2).all())


class Launches(unittest.TestCase):
    def test_launch_files(self):
        result = fathom.run(ROOT / "examples/workloads/2mm.json", sizes={"N": 64})
        self.assertEqual(len(result.kernels), 2)
        self.assertTrue(result.buffers)
        for values in result.buffers.values():
            self.assertEqual((values.dtype, values.size), (numpy.dtype("float32"), 64 * 64))
        with self.assertRaises(fathom.Invalid):
            fathom.run(ROOT / "examples/workloads/2mm.json", sizes={"M": 64})

    def test_expected_results(self):
        verdicts = fathom.run(ROOT / "examples/workloads/mvt.json").verdicts
        self.assertTrue(verdicts and all(verdict["matches"] for verdict in verdicts), verdicts)

    def test_variables(self):
        module = HEAD + """.const .align 4 .f32 scale = 0f40000000;
.visible .entry k(.param .u64 to)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [to];
    ld.const.f32 %f1, [scale];
    st.global.f32 [%rd1], %f1;
    ret;
}
"""
        to = numpy.zeros(1, numpy.float32)
        result = fathom.run(module, block=1, args=[to], variables={"scale": "f32:2.5"})
        self.assertEqual((to[0], list(result.buffers["scale"])), (2.5, [2.5]))

    def test_counters(self):
        x = numpy.zeros(64, numpy.float32)
        counters = axpy(x, x.copy(), counters=True).counters
        self.assertEqual(counters[0]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld"], 2 * 8)
        self.assertEqual(axpy(x, x.copy()).counters, [])

    def test_printf(self):
        self.assertEqual(fathom.run(PRINT, block=3).output, "hi\n" * 3)

    def test_copy_orders(self):
        for order in ["early", "late", "random"]:
            x = numpy.ones(4, numpy.float32)
            axpy(x, x.copy(), copy_order=order)
            self.assertEqual(list(x), [3] * 4)
        with self.assertRaisesRegex(fathom.Invalid, "late, early, random"):
            axpy(x, x, copy_order="now")

    def test_errors_in_ptx_have_an_excerpt(self):
        with self.assertRaises(fathom.Invalid) as caught:
            fathom.run(AXPY.replace(".visible", ".visble"), args=[])
        self.assertIn(".visble", caught.exception.excerpt)
        self.assertIn("^", str(caught.exception))

    def test_text_is_removed(self):
        x = numpy.ones(4, numpy.float32)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
            axpy(x, x)
            with self.assertRaises(fathom.Error):
                fathom.model(AXPY, args=[])
            self.assertEqual(os.listdir(folder), [])
            result = fathom.model(AXPY, args=[x, x, 0.0, 4])
            self.assertEqual(len(os.listdir(folder)), 1)  # for the lines of the PTX in result.text("source")
            self.assertIn("axpy", repr(result))
            del result
            self.assertEqual(os.listdir(folder), [])
