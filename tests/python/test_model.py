"""Traces and the model."""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import weakref
from unittest import mock

import fathom
import numpy
from fathom import _library
from ptx_texts import AXPY

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["FATHOM_BUILD"] + "/fathom"
PARTICLES = str(ROOT / "examples/tutorial/particles.json")


def output_of(*arguments):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                          env=environment).stdout


def launch(count=4096, **options):
    """The options of a launch of AXPY for this many elements."""
    x, y = numpy.zeros(count, numpy.float32), numpy.zeros(count, numpy.float32)
    return {"grid": count // 256, "block": 256, "args": [x, y, 1.0, count], **options}


class Traces(unittest.TestCase):
    def test_a_trace_has_every_access(self):
        options = launch(512)
        with fathom.trace(AXPY, **options) as trace:
            (made,) = trace.launches()
            accesses = list(trace.accesses())
            last = list(trace.accesses(first=1, last=1))
            self.assertGreater(trace.bytes, 0)
        self.assertEqual((made["kernel"], made["grid"], made["block"]), ("axpy", (2, 1, 1), (256, 1, 1)))
        self.assertEqual((made["accesses"], made["longest"], made["shared_bytes"]), (3 * 16, 3, 0))
        self.assertEqual(len(accesses), 3 * 16)
        self.assertEqual({access["block"] for access in last}, {1})
        first = accesses[0]
        self.assertEqual((first["kind"], first["bytes"], first["mask"]), ("read", 4, 2**32 - 1))
        self.assertEqual(first["addresses"], [first["addresses"][0] + 4 * lane for lane in range(32)])
        self.assertEqual(sorted({access["kind"] for access in accesses}), ["read", "write"])

    def test_arrays_that_are_the_same_have_the_same_addresses(self):
        x = numpy.zeros(64, numpy.float32)
        lowest = []
        for second in (x, x.copy()):
            with fathom.trace(AXPY, grid=1, block=64, args=[x, second, 1.0, 64]) as trace:
                lowest.append(len({address for access in trace.accesses() for address in access["addresses"]}))
        self.assertEqual(lowest, [64, 128])

    def test_records_are_the_totals_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = fathom.trace(AXPY, output=folder + "/k.trace", **launch())
            rows = trace.records()
            trace.close()
            with fathom.trace(folder + "/k.trace") as again:
                self.assertEqual(again.records(), rows)
            (kernel,) = json.loads(output_of("trace", folder + "/k.trace", "--json"))
        self.assertEqual(len(rows), 4)
        counts = [rows[0][name] for name in ("requests_read", "sectors_read", "requests_write", "footprint_all_bytes")]
        self.assertEqual(counts, [kernel[name] for name in ("reads", "read_sectors", "writes", "footprint_bytes")])
        self.assertIsNone(rows[0]["line"])
        self.assertEqual([row["kind"] for row in rows[1:]], ["read", "read", "write"])

    def test_a_closed_trace_is_refused(self):
        trace = fathom.trace(AXPY, **launch())
        trace.close()
        with self.assertRaisesRegex(fathom.Invalid, "closed"):
            trace.launches()


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = fathom.model(PARTICLES, gpu="h200")

    def test_documents_are_those_of_the_program(self):
        result = fathom.model(PARTICLES, gpu="h200")
        arguments = ["model", PARTICLES, "--gpu", "h200"]
        self.assertEqual(result.summary(), output_of(*arguments))
        self.assertEqual(str(result), result.summary())
        self.assertEqual(json.loads(result.to_json()), json.loads(output_of(*arguments, "--json")))
        self.assertEqual(result.text("lines"), output_of(*arguments, "--lines"))
        self.assertEqual(result.text("source"), output_of(*arguments, "--source"))
        self.assertEqual(result.text("launches"), output_of(*arguments, "--launches"))
        self.assertTrue(len(result.hints))
        self.assertEqual(result.summary(), output_of(*arguments, "--hints"))

    def test_members(self):
        result = self.result
        self.assertEqual((result.gpu, result.timed), ("NVIDIA H200", True))
        self.assertEqual([kernel.kernel for kernel in result.kernels], ["step_aos", "step_soa"])
        aos, soa = result.kernels
        self.assertGreater(aos.time_us, soa.time_us)
        self.assertEqual(aos.moved_bytes.l1, aos["moved_bytes"]["l1"])
        self.assertEqual(result.parameters["l1.size_bytes"].source, "description")
        self.assertEqual(len(result.launches), 2)
        self.assertIn("time_us", dir(aos))
        with self.assertRaisesRegex(AttributeError, "no 'nothing'"):
            _ = aos.nothing
        self.assertIn("step_aos", repr(result))

    def test_records_are_flat(self):
        for rows in ["kernels", "launches", "instructions", "levels"]:
            records = self.result.records(rows)
            self.assertTrue(records)
            for record in records:
                for value in record.values():
                    self.assertNotIsInstance(value, (dict, list), record)
        aos = self.result.records()[0]
        self.assertEqual(aos["hit_ratios_l1_read"], self.result.kernels[0].hit_ratios.l1_read)
        self.assertEqual(aos["l1_sectors_write"], self.result.kernels[0].l1.sectors[1])
        levels = self.result.records("levels")
        self.assertEqual([row["level"] for row in levels], ["l1", "l2", "memory"] * 2)
        self.assertEqual([row["is_bottleneck"] for row in levels], [False] * 6)
        slow = fathom.model(PARTICLES, gpu="h200", set={"memory.bytes_per_s": 4e11}).records("levels")
        self.assertEqual([row["is_bottleneck"] for row in slow], [False, False, True] * 2)
        with self.assertRaises(ValueError):
            self.result.records("columns")

    def test_pandas_takes_the_records(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame(self.result.records("levels"))
        self.assertEqual(frame.groupby("kernel").bytes.sum()["step_aos"], sum(self.result.kernels[0].moved_bytes.values()))

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.result.to_csv())))
        self.assertEqual([row["kernel"] for row in rows], ["step_aos", "step_soa"])

    def test_hints(self):
        result = fathom.model(PARTICLES, hints=True)
        (hint,) = result.hints
        self.assertEqual(hint.rule, "array_of_structs")
        changed = fathom.model(PARTICLES, what_if=hint.what_if)
        # The hint models one launch. With all launches, the elements move to other addresses, which changes the time a little.
        self.assertEqual(32 * changed.kernels[0].l1.sectors[0] + 32 * changed.kernels[0].l1.sectors[1], hint.after.l1_bytes)
        self.assertAlmostEqual(changed.kernels[0].time_us / hint.after.time_us, 1, delta=0.02)
        self.assertEqual(result.records("hints")[0]["before_time_us"], hint.before.time_us)

    def test_ptx_with_arrays(self):
        options = launch(65536)
        result = fathom.model(AXPY, gpu=fathom.gpu("v100"), **options)
        (kernel,) = result.kernels
        self.assertEqual(result.gpu, fathom.gpu("v100").name)
        self.assertEqual(kernel.requested_bytes, [2 * 4 * 65536, 4 * 65536, 0])
        self.assertFalse(options["args"][0].any())
        self.assertIn("ld.global.f32", result.text("source"))  # the temporary file of the text is still there
        same = fathom.model(AXPY, gpu="v100", **{**options, "args": [options["args"][0], options["args"][0], 1.0, 65536]})
        self.assertEqual(same.kernels[0].touched_bytes * 2, kernel.touched_bytes)

    def test_traces_are_modelled_again(self):
        trace = fathom.trace(AXPY, **launch())
        first = fathom.model(trace, gpu="h200")
        self.assertEqual(first.records(), fathom.model(AXPY, gpu="h200", **launch()).records())
        x = numpy.zeros(4096, numpy.float32)
        with fathom.trace(AXPY, **launch(args=[x, x, 1.0, 4096])) as twice:  # both loads read the same sectors
            sectors = [fathom.model(twice, what_if=edits).kernels[0].l1.sectors[0] for edits in ((), ["merge=all"])]
        self.assertEqual(sectors, [2 * 512, 512])
        later = fathom.model(trace)
        trace.close()
        self.assertIn("axpy", later.summary())  # the result keeps the trace open
        with self.assertRaisesRegex(fathom.Invalid, "options of a launch"):
            fathom.model(fathom.trace(AXPY, **launch()), grid=5)

    def test_parameters(self):
        small = fathom.model(PARTICLES, set={"l1.size_bytes": "32K", "gpu.timing": "off"})
        self.assertEqual(small.parameters["l1.size_bytes"].value, "32768")
        self.assertFalse(small.timed)
        generic = fathom.model(PARTICLES, gpu="generic", what_if="l2.size_bytes=1M")
        self.assertEqual((generic.gpu, generic.parameters["l2.size_bytes"].source), (None, "set"))
        with self.assertRaises(fathom.NotFound):
            fathom.model(PARTICLES, set={"l1.sise_bytes": 5})
        with self.assertRaisesRegex(fathom.Invalid, "expected an edit"):
            fathom.model(PARTICLES, what_if="faster")
        with self.assertRaises(fathom.Unsupported):
            fathom.model(PARTICLES, gpu="mi300x")

    def test_orders_and_samples(self):
        ranges = fathom.model(PARTICLES, orders=2, sizes={"N": 4096})
        self.assertIn("intervals", json.dumps(ranges.document()))

    def test_unknown_options_are_refused(self):
        with self.assertRaisesRegex(TypeError, r"fathom\.model\(\) has no option 'ordres'; did you mean 'orders'\?"):
            fathom.model(PARTICLES, ordres=2)
        with self.assertRaisesRegex(TypeError, r"fathom\.model\(\) has no option 'gird'; did you mean 'grid'\?"):
            fathom.model(AXPY, gird=4)
        with self.assertRaisesRegex(TypeError, r"fathom\.model\(\) has no option 'xyz'; it has grid, block, .*hints"):
            fathom.model(AXPY, xyz=True)
        with self.assertRaisesRegex(TypeError, r"trace\(\) got an unexpected keyword argument 'gird'"):
            fathom.trace(AXPY, gird=4)

    def test_views_are_checked(self):
        with self.assertRaisesRegex(fathom.Invalid, "view 'launch': expected one of summary, kernels, launches"):
            self.result.text("launch")
        with self.assertRaisesRegex(fathom.Invalid, "expected one of"):
            self.result.to_csv("kernel")

    def test_released_results_keep_the_document(self):
        result = fathom.model(PARTICLES, sizes={"N": 4096})
        opened = len(os.listdir("/proc/self/fd"))
        before = (result.to_json(), result.summary(), result.records("levels"))
        result.release()
        result.release()
        self.assertLess(len(os.listdir("/proc/self/fd")), opened)
        self.assertEqual((result.to_json(), result.summary(), result.records("levels")), before)
        self.assertIn("step_aos", repr(result))
        for use in (lambda: result.text("lines"), lambda: result.hints, lambda: result.summary(width=120)):
            with self.assertRaisesRegex(fathom.Invalid, "release"):
                use()
        result = fathom.model(PARTICLES, sizes={"N": 4096}, hints=True)
        hints = result.hints
        result.release()
        self.assertEqual(result.hints, hints)

    def test_results_do_not_keep_arrays(self):
        options = launch()
        kept = weakref.ref(options["args"][0])
        result = fathom.model(AXPY, **options)
        del options
        self.assertIsNone(kept())
        self.assertIn("axpy", result.summary())

    def test_the_decorator_needs_parentheses(self):
        with self.assertRaisesRegex(TypeError, "parentheses"):
            fathom.model(lambda: None)

    def test_threads_model_at_the_same_time(self):
        results = {}

        def work(name):
            results[name] = fathom.model(PARTICLES, gpu=name, sizes={"N": 16384}).records()

        workers = [threading.Thread(target=work, args=[name]) for name in ["h200", "v100", "a100"]]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(set(results), {"h200", "v100", "a100"})
        for name, records in results.items():
            self.assertEqual(records, fathom.model(PARTICLES, gpu=name, sizes={"N": 16384}).records())

    def test_without_a_source_it_is_the_decorator_for_triton(self):
        fake = types.ModuleType("fathom.triton")
        fake.decorator = lambda **options: options
        with mock.patch.dict(sys.modules, {"fathom.triton": fake}), mock.patch.object(fathom, "triton", fake, create=True):
            self.assertEqual(fathom.model(gpu="a100", show=False), {"gpu": "a100", "show": False})


class Html(unittest.TestCase):
    def test_results_and_descriptions_have_html(self):
        result = fathom.model(PARTICLES, sizes={"N": 4096})
        for shown in (result, fathom.gpu("h200")):
            self.assertIn("<", shown._repr_html_())

    def test_the_report_contains_the_document(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/model.json"
            pathlib.Path(path).write_text(fathom.model(PARTICLES, sizes={"N": 4096}).to_json())
            try:
                page = _library.report_html([path])
            except fathom.Unsupported as why:
                self.skipTest(str(why))
        self.assertIn("<html", page)
        self.assertIn("step_aos", page)
