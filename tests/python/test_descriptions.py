"""Descriptions: catalogue, attributes with provenance, formats, measurement of simulated GPUs."""

import json
import logging
import os
import pickle
import subprocess
import tempfile
import unittest

import fathom

PROGRAM = os.environ["FATHOM_BUILD"] + "/fathom"


def output_of(*arguments):
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


class Catalogue(unittest.TestCase):
    def test_lists_the_gpus_of_the_program(self):
        listed = [row["name"] for row in json.loads(output_of("gpus", "--json"))]
        self.assertEqual(fathom.gpus(), listed)
        self.assertIn("h200", fathom.gpus())

    def test_an_unknown_name_is_not_found(self):
        with self.assertRaises(fathom.NotFound) as caught:
            fathom.gpu("h20")
        self.assertIn("h200", str(caught.exception))
        self.assertIsInstance(caught.exception, LookupError)
        self.assertEqual(caught.exception.argument, "h20")

    def test_a_malformed_description_is_invalid(self):
        with self.assertRaises(fathom.Invalid):
            fathom.Description('{"schema": "fathom-gpu/1", "device": 5}')


class Attributes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = fathom.gpu("h200")
        cls.document = json.loads(cls.gpu.to_json())

    def test_values_have_provenance(self):
        latency = self.gpu.l2.latency_cycles
        stated = self.document["elements"]["l2"]["latency_cycles"]
        self.assertEqual(latency.value, stated["value"])
        self.assertEqual(latency.provenance(), {key: value for key, value in stated.items() if key != "value"})
        self.assertEqual((latency.source, latency.samples), ("measured", stated["samples"]))
        self.assertIsNone(self.gpu.l2.size_bytes.confidence)

    def test_values_are_used_directly(self):
        size, latency, policy = self.gpu.l2.size_bytes, self.gpu.l2.latency_cycles, self.gpu.l2.policy
        self.assertEqual(size / 2**20, 60)
        self.assertEqual(2 * size, 2 * size.value)
        self.assertEqual(size - size, 0)
        self.assertEqual(divmod(size, 1000), divmod(size.value, 1000))
        self.assertEqual(int(size), size.value)
        self.assertEqual(range(size)[-1], size.value - 1)
        self.assertEqual(f"{latency:.0f}", "279")
        self.assertEqual(round(latency), 279)
        self.assertTrue(270 < latency < 290 and latency >= latency)
        self.assertEqual(-latency, -latency.value)
        self.assertEqual(float(latency), latency.value)
        self.assertEqual(policy, "lru")
        self.assertNotEqual(policy, "fifo")
        self.assertEqual({policy: 1}["lru"], 1)
        self.assertEqual(len(self.gpu.l2.latency_by_sm_cycles), self.gpu.device.sms)
        self.assertEqual(list(self.gpu.l2.spectrum_patterns)[0], "P1")

    def test_sections_are_mappings(self):
        self.assertEqual(self.gpu.name, "NVIDIA H200")
        self.assertEqual(self.gpu.elements, list(self.document["elements"]))
        self.assertIn("l1", self.gpu)
        self.assertIs(self.gpu["l1"], self.gpu.l1)
        self.assertIn("size_bytes", self.gpu.l1)
        self.assertIn("size_bytes", dir(self.gpu.l1))
        self.assertIn("tlb_l1", dir(self.gpu))
        self.assertEqual(self.gpu.l2.scope, "gpu")
        self.assertIsNone(self.gpu.l2.scope.source)

    def test_unknown_attributes_have_reasons(self):
        reason = self.document["elements"]["l2"]["unknown"]["index"]
        self.assertEqual(self.gpu.l2.unknown["index"], reason)
        with self.assertRaisesRegex(AttributeError, "l2.index is unknown: " + reason):
            _ = self.gpu.l2.index
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            _ = self.gpu.l2.nothing
        with self.assertRaisesRegex(AttributeError, "no section 'l9'"):
            _ = self.gpu.l9

    def test_records_have_every_attribute(self):
        records = self.gpu.records()
        sections = [self.document["device"], *self.document["elements"].values()]
        known = sum(len(section) - ("unknown" in section) for section in sections)
        unknown = sum(len(section.get("unknown", {})) for section in sections)
        self.assertEqual(len(records), known + unknown)
        self.assertEqual(len({tuple(record) for record in records}), 1)  # the same columns
        by_name = {(record["section"], record["attribute"]): record for record in records}
        self.assertEqual(by_name["l2", "policy"]["value"], "lru")
        self.assertEqual(by_name["l2", "index"]["source"], "unknown")

    def test_documents_are_those_of_the_program(self):
        self.assertEqual(self.gpu.to_json(), output_of("gpus", "h200", "--json"))
        self.assertEqual(self.gpu.to("hwloc"), output_of("gpus", "h200", "--format", "hwloc"))
        self.assertIn("NVIDIA H200", self.gpu.summary())
        with self.assertRaises(fathom.Invalid):
            self.gpu.to("xml")

    def test_descriptions_are_saved_copied_and_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            self.gpu.save(folder + "/gpu.json")
            self.assertEqual(fathom.read(folder + "/gpu.json"), self.gpu)
        self.assertEqual(pickle.loads(pickle.dumps(self.gpu)), self.gpu)
        self.assertNotEqual(fathom.gpu("v100"), self.gpu)

    def test_pandas_takes_the_records(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame(self.gpu.records())
        found = frame[(frame.section == "l1") & (frame.attribute == "line_bytes")]
        self.assertEqual(list(found.value), [128])


class Measurement(unittest.TestCase):
    def test_simulated_gpus_are_measured(self):
        steps = []
        gpu = fathom.topo(device="sim:gtx980", only=["l1"], progress=lambda what, fraction: steps.append((what, fraction)))
        self.assertEqual(gpu.l1.size_bytes, fathom.gpu("gtx980").l1.size_bytes)
        self.assertEqual(gpu.l1.size_bytes.source, "simulated")
        self.assertNotIn("tlb_l1", gpu)
        self.assertTrue(steps and all(0 <= fraction <= 1 for _, fraction in steps))

    def test_a_recording_gives_the_same_result(self):
        with tempfile.TemporaryDirectory() as folder:
            recorded = fathom.topo("sim:gtx980", only="l1", record=folder + "/run.rec")
            replayed = fathom.topo("replay:" + folder + "/run.rec", only="l1")
        self.assertEqual(recorded.l1.latency_cycles.value, replayed.l1.latency_cycles.value)

    def test_wrong_devices_are_refused(self):
        with self.assertRaises(fathom.NotFound):
            fathom.topo("sim:nothing")
        with self.assertRaises(fathom.Unavailable):
            fathom.topo("sim:gtx980", require_gpu=True)
        with self.assertRaises(fathom.Invalid):
            fathom.topo("sim:gtx980", only="l7")
        with self.assertRaises(fathom.Invalid):
            fathom.topo("sim:gtx980\0")

    def test_an_exception_in_the_progress_function_stops(self):
        def fail(what, fraction):
            raise ZeroDivisionError(what)

        with self.assertRaises(ZeroDivisionError):
            fathom.topo("sim:gtx980", only="l1", progress=fail)

    def test_devices_name_their_backends(self):
        backends = {device.backend for device in fathom.devices()}
        self.assertEqual(backends, {"cuda", "opencl"})
        for device in fathom.devices():
            self.assertTrue(device.id or device.detail)

    def test_messages_go_to_the_logger(self):
        described = json.loads(fathom.gpu("gtx980").to_json())
        described["elements"]["l1"]["flavour"] = {"value": 5}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(described, file)
            file.flush()
            with self.assertLogs("fathom", logging.WARNING) as logged:
                gpu = fathom.gpu(file.name)
        self.assertIn("flavour", logged.output[0])
        self.assertEqual(gpu.l1.flavour, 5)
