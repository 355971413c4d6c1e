"""The structs of the module are those of the C compiler."""

import ctypes
import os
import subprocess
import unittest

from fathom import _structs


class Layout(unittest.TestCase):
    def test_members_are_where_the_compiler_has_them(self):
        printed = subprocess.run([os.environ["FATHOM_BUILD"] + "/tests/struct_layout"], stdout=subprocess.PIPE, text=True, check=True).stdout
        expected = []
        for name, kind in _structs.STRUCTS.items():
            expected.append(f"{name} {ctypes.sizeof(kind)}")
            for member, _ in kind._fields_:
                place = getattr(kind, member)
                expected.append(f"{name}.{member} {place.offset} {place.size}")
        self.assertEqual(printed.splitlines(), expected)
        self.assertGreater(len(expected), 150)

    def test_options_state_their_size(self):
        made = _structs.options(_structs.fth_run_options, threads=3)
        self.assertEqual((made.size, made.threads), (ctypes.sizeof(_structs.fth_run_options), 3))
