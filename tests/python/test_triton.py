"""Tests of the decorator for Triton kernels, with PTX that Triton 3.6 compiled and an imitation of
Triton (fake_triton.py), so that they need neither Triton nor a GPU."""
import array
import ctypes
import inspect
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest
import warnings
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fake_triton as fake  # pylint: disable=wrong-import-position

import fathom  # pylint: disable=wrong-import-position
from fathom import _launchfile  # pylint: disable=wrong-import-position
from fathom import triton as decorators  # pylint: disable=wrong-import-position

try:
    import numpy
except ImportError:
    numpy = None

FIGURES = ("warp_requests", "l1", "l2", "dram_read_sectors", "dram_write_sectors")


def noise(count, step):
    """The contents of buffers of tests/modern: floor(sin(i*i*STEP)*4194304)/4194304"""
    return [math.floor(math.sin(i * i * step) * 4194304) / 4194304 for i in range(count)]


def halves(values):
    """Returns the bits of f16 numbers."""
    import struct
    return [struct.unpack("<H", struct.pack("<e", value))[0] for value in values]


def figures(result):
    """Returns the figures of the only kernel of a result."""
    kernel, = json.loads(result.to_json())["kernels"]
    return {name: kernel[name] for name in FIGURES}


def expected(path):
    """Returns the figures of a launch file of tests/modern/triton."""
    return figures(fathom.model(str(fake.MODERN / path), gpu="h200"))


@fake.jit("rows/vector_add.ptx")
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: "constexpr" = 256):  # noqa: F821
    """Adds vectors."""
    # A launch overwrites its input: the model must have read it before.
    x_ptr.values[0] = 77
    assert BLOCK == 256 and n


@fake.jit("indices/gather_rows.ptx")
def gather_rows(table_ptr, index_ptr, out_ptr, ROWS: "constexpr", WIDTH: "constexpr"):  # noqa: F821
    index_ptr.values[:] = [0] * len(index_ptr.values)
    assert ROWS and WIDTH and table_ptr and out_ptr


@fake.jit("rows/layer_norm.ptx", shared=16)
def layer_norm(x, w, b, out, mean, rstd, columns, epsilon, BLOCK: "constexpr"):  # noqa: F821
    assert BLOCK and columns and epsilon and x and w and b and out and mean and rstd


@fake.jit("products/matmul_clusters.ptx", shared=24576, num_ctas=2, cluster_dims=(2, 1, 1))
def matmul(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn):
    assert stride_ak == stride_bn == stride_cn == 1 and a and b and c and M and N and K
    assert stride_am and stride_bk and stride_cm


@fake.jit("descriptors/host_f16.ptx", shared=73752, tensordesc_meta=[
    {"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": box, "fp4_padded": False}
    for box in ([128, 64], [64, 64], [128, 64])])
def matmul_host_descriptors(a_desc, b_desc, c_desc, K):
    assert a_desc and b_desc and c_desc and K


@fake.jit("descriptors/device_f16.ptx", shared=73752, num_warps=8, global_scratch_size=384)
def matmul_device_descriptors(a, b, c, M, N, K):
    assert a and b and c and M and N and K


@fake.jit(None)
def not_compiled(x):
    x.values[0] = 5


def vectors(count=1000):
    """Returns the tensors of vector_add."""
    return [fake.Tensor(noise(count, 0.37), "float32"), fake.Tensor(noise(count, 0.73), "float32"),
            fake.Tensor([0.0] * count, "float32")]


class Launches(unittest.TestCase):
    """Launches on a GPU."""

    def setUp(self):
        fake.install(gpu=True)
        self.addCleanup(fake.remove)

    def model(self, kernel, **options):
        return fathom.model(gpu="h200", **{"show": False, "strict": True, **options})(kernel)

    def test_vector_add(self):
        kernel = self.model(vector_add)
        runs = vector_add.runs
        x, y, out = vectors()
        compiled = kernel[(4,)](x, y, out, 1000, BLOCK=256)
        self.assertEqual(vector_add.runs, runs + 1)
        self.assertEqual(compiled.grid, (4,))
        self.assertEqual(x.values[0], 77)
        result, = kernel.results
        self.assertEqual(figures(result), expected("rows/vector_add.json"))

    def test_contents_are_those_before_the_launch(self):
        kernel = self.model(gather_rows)
        indices = [(i * 7919) % 100 for i in range(64)]
        buffers = [fake.Tensor(noise(6400, 0.37), "float32"), fake.Tensor(indices, "int32"),
                   fake.Tensor([0.0] * 4096, "float32")]
        kernel[(2,)](*buffers, ROWS=32, WIDTH=64)
        self.assertEqual(list(buffers[1].values), [0] * 64)
        self.assertEqual(figures(kernel.results[0]), expected("indices/gather_rows.json"))
        # The same if the indices are in pinned memory, which cpu() does not copy.
        pinned = fake.Tensor(indices, "int32", fake.HostStorage(4 * 64))
        kernel.model_next()
        kernel[(2,)](buffers[0], pinned, buffers[2], ROWS=32, WIDTH=64)
        self.assertEqual(list(pinned.values), [0] * 64)
        self.assertEqual(figures(kernel.results.pop()), expected("indices/gather_rows.json"))
        # With the indices after the launch, every row is the same, and less is read from memory.
        kernel.model_next()
        kernel[(2,)](*buffers, ROWS=32, WIDTH=64)
        self.assertLess(figures(kernel.results[1])["dram_read_sectors"],
                        figures(kernel.results[0])["dram_read_sectors"])

    def test_floats_and_shared_memory(self):
        kernel = self.model(layer_norm)
        x = fake.Tensor(halves(value * 3 for value in noise(2400, 0.37)), "float16")
        out = fake.Tensor([0] * 2400, "float16")
        weights = [fake.Tensor(noise(300, step), "float32") for step in (0.73, 0.11)]
        sums = [fake.Tensor([0.0] * 8, "float32") for _ in range(2)]
        kernel[8, 1, 1](x, *weights, out, *sums, 300, 1e-5, BLOCK=512)
        self.assertEqual(figures(kernel.results[0]), expected("rows/layer_norm.json"))

    def test_clusters_and_arguments_that_are_1(self):
        kernel = self.model(matmul)
        a, b = (fake.Tensor(halves(noise(8192, step)), "float16") for step in (0.37, 0.73))
        c = fake.Tensor([0] * 16384, "float16")
        kernel[(2,)](a, b, c, 128, 128, 64, 64, 1, 128, 1, 128, 1)
        self.assertEqual(figures(kernel.results[0]), expected("products/matmul_clusters.json"))

    def test_tensor_descriptors(self):
        with tempfile.TemporaryDirectory() as folder:
            kernel = self.model(matmul_host_descriptors, save=folder)
            tensors = [fake.Tensor(halves(noise(16384, step)), "float16") for step in (0.37, 0.73, 0)]
            maps = [fake.Descriptor(tensor, [128, 128], [128, 1], block)
                    for tensor, block in zip(tensors, ([128, 64], [128, 64], [128, 128]))]
            kernel[(1, 2)](*maps, 128)
            self.assertEqual(figures(kernel.results[0]), expected("descriptors/host_f16.json"))
            path = os.path.join(folder, "matmul_host_descriptors-1", "launch.json")
            with open(path, encoding="utf-8") as file:
                arguments = json.load(file)["launches"][0]["args"]
        with open(fake.MODERN / "descriptors/host_f16.json", encoding="utf-8") as file:
            wanted = json.load(file)["launches"][0]["args"]
        for argument, value in zip(arguments, wanted):
            if isinstance(value, dict):
                value["strides"] = [256]
                argument["tensormap"] = value["tensormap"]
        self.assertEqual(arguments, wanted)

    def test_memory_that_triton_adds(self):
        with tempfile.TemporaryDirectory() as folder:
            kernel = self.model(matmul_device_descriptors, save=folder)
            tensors = [fake.Tensor(halves(noise(16384, step)), "float16") for step in (0.37, 0.73, 0)]
            kernel[(1, 2)](*tensors, 128, 128, 128)
            path = os.path.join(folder, "matmul_device_descriptors-1", "launch.json")
            with open(path, encoding="utf-8") as file:
                saved = json.load(file)
        self.assertEqual(saved["buffers"]["global_scratch"], "u8[768]")
        self.assertEqual(saved["launches"][0]["args"][-2:], ["global_scratch", "null"])
        self.assertEqual(saved["launches"][0]["block"], 256)
        self.assertEqual(figures(kernel.results[0]), expected("descriptors/device_f16.json"))

    def test_grid_as_a_function_and_autotuner(self):
        metas = []

        def grid(meta):
            metas.append(meta)
            return (-(-meta["n"] // meta["BLOCK"]),)

        tuned = fake.Autotuner(vector_add, [fake.Config({"BLOCK": 256}, num_warps=warps) for warps in (8, 4)])
        with tempfile.TemporaryDirectory() as folder:
            kernel = self.model(tuned, save=folder)
            compiled = kernel[grid](*vectors(), n=1000)
            with open(os.path.join(folder, "vector_add-1", "launch.json"), encoding="utf-8") as file:
                launch = json.load(file)["launches"][0]
        self.assertEqual(len(metas), 3)
        self.assertEqual(metas[-1]["BLOCK"], 256)
        self.assertEqual(compiled.metadata.num_warps, 4)
        self.assertEqual(launch["grid"], [4, 1, 1])
        self.assertEqual(launch["args"][3], "i32:1000")
        self.assertEqual(figures(kernel.results[0]), expected("rows/vector_add.json"))

    def test_heuristics(self):
        kernel = self.model(fake.Heuristics(vector_add, {"BLOCK": lambda values: 256 if values["n"] > 5 else 0}))
        kernel[(4,)](*vectors(), n=1000)
        self.assertEqual(figures(kernel.results[0]), expected("rows/vector_add.json"))

    def test_views_share_a_buffer(self):
        storage = fake.Storage(12000)
        x = fake.Tensor(noise(1000, 0.37), "float32", storage)
        y = fake.Tensor(noise(1000, 0.73), "float32", storage, 1000)
        out = fake.Tensor([0.0] * 1000, "float32", storage, 2000)
        with tempfile.TemporaryDirectory() as folder:
            kernel = self.model(vector_add, save=folder)
            kernel[(4,)](x, y, out, 1000)
            with open(os.path.join(folder, "vector_add-1", "launch.json"), encoding="utf-8") as file:
                launch = json.load(file)
            with open(os.path.join(folder, "vector_add-1", "x_ptr.bin"), "rb") as file:
                data = file.read()
        self.assertEqual(launch["buffers"], {"x_ptr": "f32[3000]=file:x_ptr.bin"})
        self.assertEqual(launch["launches"][0]["args"],
                         ["x_ptr", "x_ptr+1000", "x_ptr+2000", "i32:1000", "null", "null"])
        # The value before the launch, which wrote 77.
        self.assertEqual(array.array("f", data[:4])[0], 0)
        self.assertEqual(len(data), 12000)
        self.assertEqual(figures(kernel.results[0])["warp_requests"],
                         expected("rows/vector_add.json")["warp_requests"])

    def test_number_of_launches(self):
        kernel = self.model(vector_add, launches=2)
        for _ in range(3):
            kernel[(4,)](*vectors(), 1000)
        self.assertEqual(len(kernel.results), 2)
        kernel.model_next(None)
        for _ in range(2):
            kernel[(4,)](*vectors(), 1000)
        self.assertEqual(len(kernel.results), 4)

    def test_it_is_like_the_kernel(self):
        kernel = self.model(vector_add)
        self.assertEqual(kernel.__name__, "vector_add")
        self.assertEqual(kernel.__doc__, "Adds vectors.")
        self.assertEqual(kernel.arg_names, vector_add.arg_names)
        self.assertEqual(kernel.fn, vector_add.fn)
        runs = vector_add.runs
        compiled = kernel.run(*vectors(), 1000, grid=(4,), warmup=True)
        self.assertIsInstance(compiled, fake.CompiledKernel)
        self.assertEqual(vector_add.runs, runs)
        self.assertEqual(kernel.results, [])
        with self.assertRaises(AttributeError):
            kernel.nonsense  # pylint: disable=pointless-statement

    def test_failures_are_warnings(self):
        kernel = self.model(vector_add, strict=False, max_bytes=8000)
        runs = vector_add.runs
        with self.assertWarnsRegex(decorators.ModelWarning, "more than 8000 bytes"):
            compiled = kernel[(4,)](*vectors(), 1000)
        self.assertIsInstance(compiled, fake.CompiledKernel)
        self.assertEqual(vector_add.runs, runs + 1)
        with self.assertRaisesRegex(fathom.Error, "more than 8000 bytes"):
            self.model(vector_add, max_bytes=8000)[(4,)](*vectors(), 1000)
        kernel = self.model(not_compiled, strict=False)
        with self.assertWarnsRegex(decorators.ModelWarning, "has not compiled PTX"):
            kernel[(1,)](vectors()[0])

    def test_every_failure_is_a_warning(self):
        """Failures before the launch (of a copy) and after it (of the model) do not stop the launch."""
        for owner, name in ((fake.Storage, "cpu"), (_launchfile, "write")):
            for failure in (RuntimeError, KeyError, AssertionError, RecursionError):
                with mock.patch.object(owner, name, side_effect=failure("unexpected")):
                    kernel = self.model(vector_add, strict=False)
                    runs = vector_add.runs
                    with self.assertWarnsRegex(decorators.ModelWarning, "unexpected"):
                        kernel[(4,)](*vectors(), 1000)
                    self.assertEqual(vector_add.runs, runs + 1)
                    with self.assertRaises(failure):
                        self.model(vector_add)[(4,)](*vectors(), 1000)

    def test_warnings_are_at_the_line_of_the_launch(self):
        kernel = self.model(vector_add, strict=False, max_bytes=8000)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel[(4,)](*vectors(), 1000); line = inspect.currentframe().f_lineno  # noqa: E702
        self.assertEqual([(one.filename, one.lineno) for one in caught], [(__file__, line)])

    def test_old_results_are_released(self):
        kernel = self.model(vector_add, launches=None)
        with mock.patch.object(decorators, "_COMPLETE_RESULTS", 2):
            for _ in range(4):
                kernel[(4,)](*vectors(), 1000)
        self.assertEqual(len(kernel.results), 4)
        self.assertEqual(kernel.results[0].records(), kernel.results[3].records())
        for old in kernel.results[:2]:
            with self.assertRaisesRegex(fathom.Invalid, "release"):
                old.text("lines")
        for complete in kernel.results[2:]:
            self.assertIn("vector_add", complete.text("lines"))

    def test_options_are_checked(self):
        with self.assertRaisesRegex(TypeError, r"without a source has no option 'stict'; did you mean 'strict'"):
            fathom.model(gpu="h200", stict=True, hnts=True)
        with self.assertRaisesRegex(TypeError, "parentheses"):
            fathom.model(vector_add)

    def test_a_kernel_that_reads_out_of_bounds(self):
        x, y, _ = vectors()
        with self.assertRaises(fathom.Error):
            self.model(vector_add)[(4,)](x, y, fake.Tensor([0.0] * 10, "float32"), 1000)

    def test_interpreter(self):
        kernel = self.model(fake.Interpreted(not_compiled.fn), strict=False)
        x = vectors()[0]
        with self.assertWarnsRegex(decorators.ModelWarning, "interpreter"):
            kernel[lambda meta: (1,)](x)
        self.assertEqual(x.values[0], 5)

    def test_show(self):
        import contextlib
        import io
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            kernel = self.model(vector_add, show=True)
            kernel[(4,)](*vectors(), 1000)
        self.assertTrue(text.getvalue().startswith("vector_add, grid (4,), launch 1, on h200:\n"))
        self.assertIn(kernel.results[0].summary(), text.getvalue())

    def test_only_kernels(self):
        with self.assertRaisesRegex(TypeError, "Triton kernel"):
            fathom.model(gpu="h200")(lambda: None)


@unittest.skipUnless(numpy, "needs NumPy")
class WithoutGpu(unittest.TestCase):
    """Kernels that are only compiled."""

    def setUp(self):
        self.calls = fake.install(gpu=False)
        self.addCleanup(fake.remove)

    def arrays(self):
        return [numpy.array(noise(1000, 0.37), numpy.float32), numpy.array(noise(1000, 0.73), numpy.float32),
                numpy.zeros(1000, numpy.float32)]

    def test_arrays(self):
        kernel = fathom.model(gpu="h200", show=False)(vector_add)
        runs = vector_add.runs
        x, y, out = self.arrays()
        compiled = kernel[lambda meta: (meta["n"] // meta["BLOCK"] + 1,)](x, y, out, n=1000, num_warps=4)
        self.assertIsInstance(compiled, fake.CompiledKernel)
        self.assertEqual(vector_add.runs, runs)
        self.assertEqual(figures(kernel.results[0]), expected("rows/vector_add.json"))
        (source, target, options), = self.calls
        self.assertEqual(source.signature, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32",
                                            "BLOCK": "constexpr"})
        self.assertEqual(source.constants, {(4,): 256})
        aligned = [["tt.divisibility", 16]]
        self.assertEqual(source.attrs, {(0,): aligned, (1,): aligned, (2,): aligned})
        self.assertEqual((target.backend, target.arch, target.warp_size), ("cuda", 90, 32))
        self.assertEqual(options, {"num_warps": 4})
        self.assertIs(source.fn, vector_add)

    def test_views_of_arrays(self):
        whole = numpy.zeros(3001, numpy.float32)
        whole[1:1001], whole[1001:2001], _ = self.arrays()
        with tempfile.TemporaryDirectory() as folder:
            kernel = fathom.model(gpu="h200", show=False, save=folder)(vector_add)
            kernel[(4,)](whole[1:1001], whole[1001:2001], whole[2001:], 1000)
            with open(os.path.join(folder, "vector_add-1", "launch.json"), encoding="utf-8") as file:
                launch = json.load(file)
        self.assertEqual(launch["launches"][0]["args"][:3], ["x_ptr+1", "x_ptr+1001", "x_ptr+2001"])
        self.assertEqual(self.calls[0][0].attrs, {})

    def test_autotuner_and_heuristics(self):
        inner = fake.Heuristics(vector_add, {"n": lambda values: len(values["x_ptr"])})
        tuned = fake.Autotuner(inner, [fake.Config({"BLOCK": 256}, num_warps=4), fake.Config({"BLOCK": 512})])
        kernel = fathom.model(gpu="h200", show=False)(tuned)
        kernel[lambda meta: (-(-meta["n"] // meta["BLOCK"]),)](*self.arrays())
        self.assertEqual(figures(kernel.results[0]), expected("rows/vector_add.json"))
        self.assertEqual(self.calls[0][2], {"num_warps": 4})

    def test_hooks_of_configurations(self):
        seen = []
        configs = [fake.Config({"BLOCK": 256}, num_warps=4, pre_hook=seen.append),
                   fake.Config({"BLOCK": 512}, pre_hook=self.fail)]
        kernel = fathom.model(gpu="h200", show=False)(fake.Autotuner(vector_add, configs))
        x, y, out = self.arrays()
        kernel[(4,)](x, y, out, n=1000)
        (values,) = seen
        self.assertIs(values["x_ptr"], x)
        self.assertEqual((values["n"], values["BLOCK"], values["num_warps"]), (1000, 256, 4))

    def test_failures_are_warnings(self):
        kernel = fathom.model(gpu="h200", show=False, max_bytes=8000)(vector_add)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled = kernel[(4,)](*self.arrays(), 1000); line = inspect.currentframe().f_lineno  # noqa: E702
        self.assertIsInstance(compiled, fake.CompiledKernel)
        self.assertEqual([(one.category, one.filename, one.lineno) for one in caught],
                         [(decorators.ModelWarning, __file__, line)])
        self.assertIn("more than 8000 bytes", str(caught[0].message))
        with self.assertRaisesRegex(fathom.Error, "more than 8000 bytes"):
            fathom.model(gpu="h200", show=False, max_bytes=8000, strict=True)(vector_add)[(4,)](*self.arrays(), 1000)

    def test_errors_name_the_argument(self):
        x, y, _ = self.arrays()
        kernel = fathom.model(gpu="h200", show=False)(vector_add)
        for arguments, message in (((x, y, x, "many"), "argument 'n': .* type str"),
                                   ((x, y, x, (1, "many")), "argument 'n': .* type str"),
                                   ((x, y.astype(object), x, 1000), "argument 'y_ptr': .* type object")):
            with self.assertRaisesRegex(fathom.Unsupported, message):
                kernel[(4,)](*arguments)

    def test_arrays_on_a_machine_with_a_gpu(self):
        self.calls = fake.install(gpu=True)
        kernel = fathom.model(gpu="h200", show=False)(vector_add)
        kernel[(4,)](*self.arrays(), 1000)
        self.assertEqual(len(self.calls), 1)
        self.assertEqual(len(kernel.results), 1)

    def test_other_gpus(self):
        kernel = fathom.model(gpu="a100", show=False)(vector_add)
        kernel[(4,)](*self.arrays(), 1000)
        self.assertEqual(self.calls[0][1].arch, 80)
        with self.assertRaisesRegex(fathom.Error, "NVIDIA"):
            fathom.model(gpu="mi210", show=False)(vector_add)[(4,)](*self.arrays(), 1000)

    def test_gluon(self):
        gluon = fake.JITFunction(vector_add.fn)
        gluon.is_gluon = lambda: True
        with self.assertRaisesRegex(fathom.Error, "Gluon"):
            fathom.model(show=False)(gluon)[(4,)](*self.arrays(), 1000)

    def test_interpreter(self):
        with self.assertRaisesRegex(fathom.Error, "triton.jit"):
            fathom.model(show=False, compile_only=True)(fake.Interpreted(vector_add.fn))[(4,)](*self.arrays(), 1000)


class Specialisation(unittest.TestCase):
    """The types that arguments get without a GPU."""

    def check(self, value, kind, constant=None, aligned=False, **parameter):
        constants, attributes = {}, {}
        fields = type("Parameter", (), parameter)
        self.assertEqual(decorators.specialise(fields, value, (3,), constants, attributes), kind)
        self.assertEqual(constants, {} if constant is None else constant)
        self.assertEqual(attributes, {(3,): [["tt.divisibility", 16]]} if aligned else {})

    def test_numbers(self):
        self.check(5, "i32")
        self.check(-1, "i32")
        self.check(32, "i32", aligned=True)
        self.check(0, "i32", aligned=True)
        self.check(2**31, "i64", aligned=True)
        self.check(2**31 + 1, "i64")
        self.check(2**63 + 1, "u64")
        self.check(1, "constexpr", {(3,): 1})
        self.check(1, "i32", do_not_specialize=True)
        self.check(32, "i32", do_not_specialize=True)
        self.check(32, "i32", do_not_specialize_on_alignment=True)
        self.check(True, "u1")
        self.check(1.0, "fp32")
        self.check(1, "i64", annotation_type="i64")
        self.check(32, "i64", annotation_type="i64", aligned=True)
        self.check(2.5, "fp64", annotation_type="fp64")
        self.check(2, "fp16", annotation_type="fp16")
        with self.assertRaisesRegex(fathom.Error, "64 bits"):
            self.check(2**64, "")
        with self.assertRaisesRegex(fathom.Error, "type str"):
            self.check("a", "")

    def test_others(self):
        self.check(None, "constexpr", {(3,): None})
        self.check(256, "constexpr", {(3,): 256}, is_constexpr=True)
        tensor = fake.Tensor([0] * 8, "int64")
        self.check(tensor, "*i64", aligned=True)
        self.check(tensor, "*ki64", aligned=True, is_const=True)
        self.check(fake.Tensor([0] * 4, "int64", tensor.storage, 1), "*i64")
        self.check(fake.Descriptor(tensor, [8], [1], [4]), "tensordesc<i64[4]>")

    def test_tuples(self):
        constants, attributes = {}, {}
        tensor = fake.Tensor([0.0] * 8, "float32")
        kind = decorators.specialise(None, (tensor, 1, (None, 7)), (2,), constants, attributes)
        self.assertEqual(kind, ("*fp32", "constexpr", ("constexpr", "i32")))
        self.assertEqual(constants, {(2, 1): 1, (2, 2, 0): None})
        self.assertEqual(attributes, {(2, 0): [["tt.divisibility", 16]]})


class Texts(unittest.TestCase):
    """Arguments in the form of launch files."""

    def test_numbers(self):
        cases = [("i32", 32, -5, "i32:-5"), ("u1", 8, True, "u8:1"), ("i64", 64, 2**40, f"i64:{2**40}"),
                 ("u64", 64, 2**63, f"u64:{2**63}"), ("fp32", 32, 0.5, "f32:0.5"),
                 ("fp32", 32, 1e-5, "f32:9.999999747378752e-06"), ("fp64", 64, 1e-5, "f64:1e-05"),
                 ("fp32", 32, float("-inf"), f"u32:{0xFF800000}"), ("fp16", 16, 2, "f16:2.0"),
                 ("bf16", 16, float("inf"), f"u16:{0x7F80}"), ("fp16", 16, float("nan"), f"u16:{0x7E00}"),
                 ("fp64", 64, float("inf"), f"u64:{0x7FF0000000000000}")]
        for kind, bits, value, text in cases:
            self.assertEqual(_launchfile.number(kind, bits, value), text)

    def arguments(self, declaration, size=1 << 20):
        entry = _launchfile.find_entry(f".visible .entry k(\n{declaration}\n)\n.reqntid 64, 1, 1\n{{\n}}")
        self.assertEqual((entry.name, entry.threads), ("k", 64))
        memory = _launchfile.Memory(size)
        return _launchfile.Arguments(memory, entry, [])

    def test_tuples_none_and_empty_tensors(self):
        arguments = self.arguments(".param .u64 .ptr .global .align 1 k_param_0, // pointer\n.param .u32 k_param_1,\n"
                                   ".param .b8 k_param_2,\n.param .u64 k_param_3, .param .u64 k_param_4")
        tensor = fake.Tensor([0.0] * 8, "float32")
        arguments.add("x", ("*fp32", "constexpr", "i32"), (tensor, 1, 9))
        arguments.add("flag", "u1", False)
        arguments.add("none", "*fp32", None)
        arguments.add("empty", "*fp32", fake.Tensor([], "float32"))
        self.assertEqual(arguments.texts(), ["x_0", "i32:9", "u8:0", "null", "null"])
        with self.assertRaisesRegex(fathom.Error, "too few for the argument more"):
            arguments.add("more", "i32", 5)

    def test_refused(self):
        for kind, value, message in (("*fp32", 4096, "given as int"), ("nvTmaDesc", 0, "nvTmaDesc"),
                                     ("tensordesc<fp16[8, 8]>", fake.Descriptor(None, [8, 8], [8, 1], [8, 8]), "tensor map"),
                                     ("*fp32", type("Other", (), {"data_ptr": lambda self: 0})(), "type Other")):
            with self.assertRaisesRegex(fathom.Error, message):
                self.arguments(".param .u64 k_param_0").add("x", kind, value)

    def test_names_of_buffers(self):
        arguments = self.arguments(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d")
        for name in ("i32", "null", "x", "x"):
            arguments.add(name, "*fp32", fake.Tensor([0.0] * 8, "float32"))
        self.assertEqual(arguments.texts(), ["arg_i32", "arg_null", "x", "x_"])

    def test_types_that_differ(self):
        arguments = self.arguments(".param .u64 a, .param .u64 b")
        first = fake.Tensor([0.0] * 8, "float32")
        arguments.add("x", "*fp32", first)
        arguments.add("y", "*i64", fake.Tensor([0] * 2, "int64", first.storage, 1))
        self.assertEqual(arguments.texts(), ["x", "x+8"])
        self.assertEqual(ctypes.sizeof(first.storage.data), 32)

    def test_ptx_without_a_kernel(self):
        with self.assertRaisesRegex(fathom.Error, "no .entry"):
            _launchfile.find_entry(".version 8.7\n")


if __name__ == "__main__":
    warnings.simplefilter("always")
    unittest.main()
