#!/usr/bin/env python3
"""Compares predictions with counters and prints the tables as Markdown.

usage: compare_counters.py PREDICTIONS.csv WITHOUT-GPU.csv COUNTERS.csv...
The rules are those of tests/model/heldout/compare: a measure is compared if the GPU counts at least 10,000 sectors.
"""
import csv
import gzip
import io
import os
import statistics
import sys

SHORT = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "l1_read_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "l1_read_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum": "l1_read_hits",
    "lts__t_sectors_srcunit_tex_op_read.sum": "l2_read_sectors",
    "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum": "l2_read_hits",
    "lts__t_sectors_srcunit_tex_op_write.sum": "l2_write_sectors",
    "dram__sectors_read.sum": "dram_read_sectors",
    "dram__sectors_write.sum": "dram_write_sectors",
    "gpu__time_duration.sum": "ns",
}
MIN_SECTORS = 10000


def number(text):
    try:
        return float(str(text).replace(",", ""))
    except ValueError:
        return None


def read_predictions(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def read_counters(paths):
    """Returns kernel -> counter -> values of the launches. Lines before the header are messages; the line after it has units."""
    found = {}
    for path in paths:
        if not os.path.exists(path):
            continue
        with (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
            text = file.read()
        if '"ID"' not in text:
            print(f"{path} has no rows", file=sys.stderr)
            continue
        for row in csv.DictReader(io.StringIO(text[text.index('"ID"'):])):
            if not row.get("ID"):
                continue
            kernel = found.setdefault(row["Kernel Name"], {})
            for name, short in SHORT.items():
                if row.get(name) not in (None, ""):
                    value = number(row[name])
                    if value is not None:
                        kernel.setdefault(short, []).append(value)
    return found


def percent(hits, sectors):
    return None if hits is None or not sectors else 100 * hits / sectors


def measures(values):
    """Returns the compared measures of a row of numbers."""
    return {"l1": percent(values.get("l1_read_hits"), values.get("l1_read_sectors")),
            "l2": percent(values.get("l2_read_hits"), values.get("l2_read_sectors")),
            "l1_sectors": values.get("l1_read_sectors"), "sectors": values.get("l2_read_sectors"),
            "writes": values.get("l2_write_sectors"), "dram": values.get("dram_read_sectors")}


# Measure -> title, counter that must have MIN_SECTORS, whether it is a ratio
MEASURES = {"l1_sectors": ("L1 sectors, %", "l1_read_sectors", False), "l1": ("L1 read hits, points", "l1_read_sectors", True),
            "sectors": ("L2 read sectors, %", "l2_read_sectors", False), "l2": ("L2 read hits, points", "l2_read_sectors", True),
            "writes": ("L2 written sectors, %", "l2_write_sectors", False), "dram": ("DRAM read sectors, %", "dram_read_sectors", False)}


def error(model, gpu, counted, key):
    """Returns the error of a measure: points for ratios, percent for numbers; None where nothing is compared."""
    if gpu.get(key) is None or model.get(key) is None or (counted.get(MEASURES[key][1]) or 0) < MIN_SECTORS:
        return None
    return model[key] - gpu[key] if MEASURES[key][2] else 100 * (model[key] - gpu[key]) / gpu[key]


def cell(value, form):
    return "–" if value is None else form % value


def main_table(predictions, counters):
    errors = {key: [] for key in MEASURES}
    print("| case | " + " | ".join(f"{'L1' if k.startswith('l1') else 'L2' if k in ('l2', 'sectors', 'writes') else 'DRAM'} "
                                   f"{ {'l1_sectors': 'sectors', 'l1': 'hit %', 'sectors': 'read sectors', 'l2': 'hit %', 'writes': 'written sectors', 'dram': 'read sectors'}[k] } GPU | model | error"
                                   for k in MEASURES) + " |")
    print("|---|" + "--:|--:|--:|" * len(MEASURES))
    for name, row in sorted(predictions.items()):
        counted = {key: statistics.median_low(values) for key, values in counters.get(row.get("kernel") or name, {}).items()}
        predicted = {key: number(row.get(key)) for key in SHORT.values() if row.get(key)}
        gpu, model = measures(counted), measures(predicted)
        cells = []
        for key, (_, _, ratio) in MEASURES.items():
            form = "%.2f" if ratio else "%d"
            wrong = error(model, gpu, counted, key)
            if wrong is not None:
                errors[key].append(abs(wrong))
            cells += [cell(gpu[key], form), cell(model[key], form), cell(wrong, "%+.2f")]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\n| measure | cases | mean of the absolute error | largest |\n|---|--:|--:|--:|")
    for key, (title, _, _) in MEASURES.items():
        if errors[key]:
            print(f"| {title} | {len(errors[key])} | {statistics.mean(errors[key]):.2f} | {max(errors[key]):.2f} |")


def spread_table(counters):
    """How much the launches of one kernel differ on the GPU."""
    print("\n| kernel | launches | L2 read hits, min to max | DRAM read sectors, min to max | time under ncu, us |\n|---|--:|--:|--:|--:|")
    for name, values in sorted(counters.items()):
        hits, dram, times = (values.get(key) or [0] for key in ("l2_read_hits", "dram_read_sectors", "ns"))
        print(f"| {name} | {len(dram)} | {min(hits):.0f} to {max(hits):.0f} | {min(dram):.0f} to {max(dram):.0f} "
              f"| {statistics.median(times) / 1000:.2f} |")


def without_gpu(predictions, others):
    """Compares the predictions of kernels that were only compiled with those of kernels that were launched."""
    keys = ["ptx", "num_warps", "shared", "l1_read_sectors", "l1_read_hits", "l2_read_sectors", "l2_read_hits", "l2_write_sectors",
            "dram_read_sectors", "dram_write_sectors"]
    print("\n| case | launched: result right | seconds | by | without a GPU: same PTX | same figures | error |\n|---|---|--:|---|---|---|---|")
    for name, row in sorted(predictions.items()):
        other = others.get(name, {})
        ptx = "yes" if row.get("ptx") and row.get("ptx") == other.get("ptx") else "no"
        same = "yes" if other.get("l2_read_sectors") and all(row.get(key) == other.get(key) for key in keys[3:]) else "no"
        fault = row.get("error") or other.get("error") or ""
        print(f"| {name} | {row.get('right', '')} | {row.get('seconds', '')} | {row.get('by', '')} | {ptx} | {same} | "
              f"{fault.splitlines()[0][:150] if fault else ''} |")


def main():
    predictions, others = read_predictions(sys.argv[1]), read_predictions(sys.argv[2])
    counters = read_counters(sys.argv[3:])
    main_table(predictions, counters)
    spread_table(counters)
    without_gpu(predictions, others)


if __name__ == "__main__":
    main()
