# SPDX-License-Identifier: MIT
"""Spack recipe of fathom, for Spack 1.0 and later. docs/packages/installing.md says how to use it."""

import os

from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Fathom(MesonPackage):
    """Measures the memory system of a GPU, describes it in one JSON document, and uses that document to simulate the GPU and to
    predict how CUDA kernels behave in its caches. A GPU is needed only to measure one."""

    # The archive of the sources must be in the current folder.
    manual_download = True

    license("MIT")

    version("0.2.0")

    variant("python", default=False, description="Install the Python module")
    variant("portable", default=False, description="Link all libraries but glibc statically; installs only the program")

    depends_on("c", type="build")
    depends_on("meson@0.62:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zstd@1.4:")
    depends_on("zstd libs=static", when="+portable")
    depends_on("sqlite@3.26:")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-numpy", type="run", when="+python")

    extends("python", when="+python")

    # A portable build has no shared library, which the module needs.
    conflicts("+python", when="+portable")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/fathom-{version}.tar.gz"

    def meson_args(self):
        def enabled(name):
            return "true" if self.spec.satisfies(f"+{name}") else "false"

        args = [f"-Dportable={enabled('portable')}", f"-Dpython={enabled('python')}", "-Dtests=false"]
        if self.spec.satisfies("+python"):
            args.append(f"-Dpython.purelibdir={self.prefix}/{self.spec['python'].package.purelib}")
        return args

    def setup_run_environment(self, env):
        # The module looks for the library where the dynamic linker does, unless this variable names it.
        if self.spec.satisfies("+python"):
            env.set("FATHOM_LIBRARY", f"{self.prefix.lib}/libfathom.so.0")

    def test_program(self):
        """the program has the version of the package"""
        fathom = which(self.prefix.bin.fathom)
        output = fathom("--version", output=str.split, error=str.split)
        assert output.strip() == f"fathom {self.spec.version}"
