#!/usr/bin/env python3
"""Writes the rows that predict_case.py left as one CSV file.

usage: collect_rows.py FOLDER OUTPUT.csv SUMMARIES.txt
"""
import csv
import json
import pathlib
import sys

COLUMNS = ["case", "by", "kernel", "error", "right", "worst_difference", "seconds", "ptx", "num_warps", "shared", "config",
           "blocks_per_sm", "l1_bytes", "l1_read_requests", "l1_read_sectors", "l1_read_hits", "l2_read_sectors", "l2_read_hits",
           "l2_write_sectors", "dram_read_sectors", "dram_write_sectors", "time_us", "records", "versions"]


def main():
    rows = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*/row.json")):
        try:
            rows.append(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            print(path, error)
    with open(sys.argv[2], "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        out.writeheader()
        for row in rows:
            if isinstance(row.get("config"), dict):
                row["config"] = json.dumps(row["config"])
            out.writerow(row)
    with open(sys.argv[3], "a", encoding="utf-8") as file:
        for row in rows:
            file.write(f"== {row['case']}\n{row.get('summary') or row.get('error', '')}\n\n")


if __name__ == "__main__":
    main()
