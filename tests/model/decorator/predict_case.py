#!/usr/bin/env python3
"""Launches one case through the decorator fathom.model and writes what the model predicts.

usage: predict_case.py NAME FOLDER [cpu]    writes FOLDER/NAME/row.json and FOLDER/NAME/launches/
With cpu: only compile, with tensors in host memory, as on a machine without a GPU.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback


def figures(document):
    """Returns the figures of the only kernel of the model's JSON, as tests/model/heldout/predict takes them."""
    kernel, = document["kernels"]
    local = kernel.get("l1_local", {"sectors": [0], "hits": [0]})
    requests = kernel["warp_requests"][0] - kernel.get("warp_requests_local", [0])[0]
    l1 = {key: kernel["l1"][key][0] - local[key][0] for key in ("sectors", "hits")}
    return {"kernel": kernel["kernel"], "blocks_per_sm": kernel.get("blocks_per_sm"), "l1_bytes": kernel.get("l1_bytes"),
            "l1_read_requests": requests, "l1_read_sectors": l1["sectors"], "l1_read_hits": l1["hits"],
            "l2_read_sectors": kernel["l2"]["sectors"][0], "l2_read_hits": kernel["l2"]["hits"][0],
            "l2_write_sectors": kernel["l2"]["sectors"][1], "dram_read_sectors": kernel["dram_read_sectors"],
            "dram_write_sectors": kernel["dram_write_sectors"], "time_us": kernel.get("time_us")}


def with_program(folder):
    """Returns the prediction of the program fathom for the launch file that the decorator saved, if the module failed."""
    launches = sorted((folder / "launches").glob("*/launch.json"))
    program = os.environ.get("FATHOM")
    if not program or not launches:
        return None
    done = subprocess.run([program, "model", str(launches[-1]), "--gpu", "h200", "--json", "-q"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        print(done.stderr)
        return None
    return json.loads(done.stdout)


def predict(name, folder, device, row):
    """Fills the row of a case."""
    import fathom
    import torch
    import triton
    import triton_cases
    row["versions"] = f"torch {torch.__version__}, triton {triton.__version__}, fathom {getattr(fathom, '__version__', '')}"
    launch = triton_cases.make(name, device)
    kernel = fathom.model(gpu="h200", show=False, strict=True, save=folder / "launches")(launch.kernel)
    start = time.monotonic()
    try:
        compiled = kernel[launch.grid](*launch.args, **launch.kwargs)
        row["ptx"] = hashlib.sha256(compiled.asm["ptx"].encode()).hexdigest()[:16]
        row["num_warps"], row["shared"] = compiled.metadata.num_warps, compiled.metadata.shared
    finally:
        row["seconds"] = round(time.monotonic() - start, 2)
        if device == "cuda":
            torch.cuda.synchronize()
            worst = (launch.result.cpu().float() - launch.expected().float()).abs().max().item()
            row["worst_difference"] = worst
            row["right"] = bool(worst <= launch.tolerance)
    if hasattr(launch.kernel, "best_config"):
        row["config"] = launch.kernel.best_config.all_kwargs()
    result = kernel.results[0]
    row.update(figures(json.loads(result.to_json())))
    row["by"] = "decorator"
    row["summary"] = result.summary()
    try:
        row["records"] = len(result.records())
    except Exception:  # pylint: disable=broad-except
        row["records"] = 0
        traceback.print_exc()


def main():
    name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    device = sys.argv[3] if len(sys.argv) > 3 else "cuda"
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    row = {"case": name}
    try:
        predict(name, folder, device, row)
    except BaseException as error:  # pylint: disable=broad-except
        traceback.print_exc()
        row["error"] = f"{type(error).__name__}: {error}"[:500]
        try:
            document = with_program(folder)
            if document and "l2_read_sectors" not in row:
                row.update(figures(document), by="program")
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
    (folder / "row.json").write_text(json.dumps(row, default=str), encoding="utf-8")
    print(name, device, row.get("error", "predicted"), row.get("seconds"), "s")


if __name__ == "__main__":
    main()
