# `fathom bench all` on a small simulated GPU with 2 GB of memory: every benchmark prints its tables.
cat >two.json <<END
{"schema": "fathom-gpu/1", "device": {"name": "Two", "compute_capability": "7.5", "sms": 2, "clock_mhz": 1000, "max_threads_per_sm": 1024,
  "memory_clock_mhz": 1000, "memory_bus_bits": 64},
 "elements": {"l1": {"size_bytes": 24576, "line_bytes": 128, "latency_cycles": 32}, "shared": {"size_bytes": 65536, "latency_cycles": 25},
  "l2": {"size_bytes": 524288, "line_bytes": 128, "sector_bytes": 32, "latency_cycles": 200},
  "memory": {"size_bytes": 2147483648, "latency_cycles": 500, "read_bytes_per_s": 12e9, "write_bytes_per_s": 12e9, "copy_bytes_per_s": 11e9}}}
END
fathom bench all --device sim:two.json --format csv -o all.csv --describe gpu.json; echo $?
cut -d, -f1 all.csv | uniq
