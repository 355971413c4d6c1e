"""The module itself: loading, interruption, python -m fathom, and the examples of the pages."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import fathom
from fathom import __main__ as program
from ptx_texts import SPIN

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["FATHOM_BUILD"]
PAGES = ["README.md", "docs/python/module.md"]


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=120, **options)


class Loading(unittest.TestCase):
    def test_the_version_is_that_of_the_library(self):
        printed = subprocess.run([BUILD + "/fathom", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn(fathom.__version__, printed)
        with self.assertRaises(AttributeError):
            _ = fathom.nothing

    def test_a_missing_library_is_an_error(self):
        failed = python("-c", "import fathom; fathom.gpus()", env={**os.environ, "FATHOM_LIBRARY": "/nowhere/libfathom.so.0"})
        self.assertIn("LibraryMissing", failed.stderr)
        self.assertIn("set FATHOM_LIBRARY", failed.stderr)

    def test_an_older_library_is_an_error(self):
        code = "import ctypes.util, fathom\ntry: fathom.gpus()\nexcept ImportError as why: print(why)"
        failed = python("-c", code, env={**os.environ, "FATHOM_LIBRARY": "libc.so.6"})
        self.assertIn("has no function fth_", failed.stdout)

    def test_numpy_is_optional(self):
        code = """if True:
            import sys
            sys.modules["numpy"] = None
            import array, fathom
            from ptx_texts import AXPY
            x = array.array("f", [1, 2])
            fathom.run(AXPY, block=2, args=[x, bytearray(8), 3.0, 2])
            print(list(x), type(fathom.run("examples/workloads/2mm.json", sizes={"N": 32}).buffers.popitem()[1]).__name__)
        """
        paths = f"{ROOT}/python:{pathlib.Path(__file__).parent}"
        done = python("-c", code, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths})
        self.assertEqual((done.stdout, done.stderr), ("[3.0, 6.0] bytes\n", ""))

    def test_all_files_are_installed(self):
        listed = re.findall(r"'fathom/(\w+)\.py'", (ROOT / "python/meson.build").read_text())
        self.assertEqual({path.stem for path in (ROOT / "python/fathom").glob("*.py")}, set(listed))

    def test_everything_that_is_public_has_a_docstring(self):
        for name in fathom.__all__:
            self.assertTrue(getattr(fathom, name).__doc__, name)


class Interrupts(unittest.TestCase):
    def interrupt(self, code, expected="KeyboardInterrupt"):
        """Runs Python code, sends Ctrl-C when it has printed a line, and returns the seconds until it ended."""
        # A shell that runs the tests in the background makes its children ignore Ctrl-C.
        code = ("import fathom, signal, sys\nfrom ptx_texts import SPIN\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\nprint(flush=True)\n" + code)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}/python:{pathlib.Path(__file__).parent}"}
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=ROOT, env=environment) as process:
            process.stdout.readline()
            time.sleep(1)
            self.assertIsNone(process.poll(), "it ended before it was interrupted")
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=60)
        self.assertIn(expected, messages)
        self.assertNotIn("ignored", messages)
        self.assertLess(time.monotonic() - started, 20)

    def test_runs(self):
        self.interrupt("fathom.run(SPIN, grid=64, block=256)")

    def test_measurements(self):
        self.interrupt("fathom.topo('sim:h200', full=True)")

    def test_models(self):
        self.interrupt("fathom.model('examples/workloads/2mm.json', sizes={'N': 2048})")

    def test_other_signal_handlers(self):
        self.interrupt("""if True:
            import signal
            def stop(*_): raise ZeroDivisionError
            signal.signal(signal.SIGINT, stop)
            fathom.run(SPIN, grid=64, block=256)
        """, "ZeroDivisionError")

    def test_other_threads_are_not_disturbed(self):
        failures = []

        def work():
            try:
                fathom.run(SPIN, max_instructions=10000)
            except fathom.Invalid as why:
                failures.append(str(why))

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        self.assertEqual(len(failures), 1)


class Cuda(unittest.TestCase):
    def test_devices_of_the_driver(self):
        """The code for a GPU, with a stand-in for NVIDIA's driver that runs kernels on a simulated GPU."""
        folder = BUILD + "/tests/standin/new"
        if not os.path.exists(folder + "/libcuda.so.1"):
            self.skipTest("the stand-in for the driver was not built")
        code = """if True:
            import array, fathom
            from ptx_texts import AXPY
            (device,) = [device for device in fathom.devices() if device.backend == "cuda"]
            gpu = fathom.topo(device="cuda:0", only="l1")
            x = array.array("f", [1, 2])
            done = fathom.run(AXPY, block=2, args=[x, bytearray(8), 3.0, 2], device="cuda:0")
            print(device.id, gpu.name, int(gpu.l1.size_bytes), gpu.l1.size_bytes.source, list(x), done.seconds[0] > 0)
        """
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}/python:{pathlib.Path(__file__).parent}",
                       "LD_LIBRARY_PATH": folder, "FATHOM_STANDIN_GPU": "gtx980"}
        done = python("-c", code, env=environment)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, "cuda:0 GeForce GTX 980 24576 measured [3.0, 6.0] True\n")


class Program(unittest.TestCase):
    def test_arguments_and_exit_status(self):
        self.assertEqual(python("-m", "fathom", "--version").stdout, f"fathom {fathom.__version__}\n")
        direct = subprocess.run([BUILD + "/fathom", "gpus", "nothing"], stderr=subprocess.PIPE, text=True, check=False)
        called = python("-m", "fathom", "gpus", "nothing")
        self.assertEqual((called.returncode, called.stderr), (direct.returncode, direct.stderr))
        self.assertNotEqual(called.returncode, 0)

    def test_a_script_on_the_path_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "fathom"
            script.write_text("#!/bin/sh\nexec python3 -m fathom\n")
            script.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": folder, "FATHOM_LIBRARY": folder + "/libfathom.so.0"}):
                self.assertIsNone(program.program())
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:{BUILD}", "FATHOM_LIBRARY": folder + "/libfathom.so.0"}):
                self.assertEqual(program.program(), pathlib.Path(BUILD) / "fathom")


class Pages(unittest.TestCase):
    def test_examples_print_what_the_pages_show(self):
        """A block ```python is run; a block ```text that follows is its output."""
        block = re.compile(r"^```python\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
        for page in PAGES:
            examples = block.findall((ROOT / page).read_text())
            self.assertTrue(examples, page)
            for code, expected in examples:
                with self.subTest(page=page, code=code), tempfile.TemporaryDirectory() as folder:
                    os.symlink(ROOT / "examples", folder + "/examples")
                    done = python("-c", code, cwd=folder)
                    self.assertEqual(done.stderr, "")
                    self.assertEqual(done.stdout, expected)
