#!/usr/bin/env python3
"""Launches cases without the decorator, three times each; run it under ncu with --profile-from-start off.

usage: launch_cases.py FOLDER NAME...     FOLDER: that of predict_case.py, which has the autotuner's choice
"""
import json
import pathlib
import sys
import traceback

import torch

import triton_cases

LAUNCHES = 3


def launch(name, folder):
    """Launches a case LAUNCHES times; only these launches are profiled."""
    case = triton_cases.make(name, "cuda")
    kernel, kwargs = case.kernel, dict(case.kwargs)
    if hasattr(kernel, "configs"):
        # The configuration that the prediction is for.
        row = json.loads((folder / name / "row.json").read_text(encoding="utf-8"))
        kernel, kwargs = kernel.fn, row["config"]
    kernel[case.grid](*case.args, **kwargs)
    torch.cuda.synchronize()
    for _ in range(LAUNCHES):
        torch.cuda.cudart().cudaProfilerStart()
        kernel[case.grid](*case.args, **kwargs)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


def main():
    for name in sys.argv[2:]:
        try:
            launch(name, pathlib.Path(sys.argv[1]))
            print(name, "launched", flush=True)
        except Exception:  # pylint: disable=broad-except
            print(name, "FAILED", flush=True)
            traceback.print_exc()


if __name__ == "__main__":
    main()
