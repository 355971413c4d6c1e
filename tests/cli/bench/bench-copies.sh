# Asynchronous copies of a small simulated GPU with a copy engine. Its description gives the same figures again. A GPU without a copy
# engine and clusters has reasons instead.
# Skipped under sanitizers: the unit tests execute the same code.
cat >engine.json <<END
{"schema": "fathom-gpu/1", "device": {"name": "Engine", "compute_capability": "9.0", "sms": 2, "clock_mhz": 1000, "max_threads_per_sm": 1024},
 "elements": {"shared": {"size_bytes": 232448, "latency_cycles": 25}, "cluster_shared": {"latency_cycles": 180},
  "l2": {"size_bytes": 524288, "line_bytes": 128, "sector_bytes": 32, "latency_cycles": 200},
  "tma": {"latency_cycles": 400, "store_latency_cycles": 170, "bytes_per_cycle": 100, "store_bytes_per_cycle": 32, "copy_cycles": 8},
  "memory": {"size_bytes": 2147483648, "latency_cycles": 500}}}
END
fathom bench copies --device sim:engine.json --record copies.rec --describe gpu.json
fathom bench copies --device replay:copies.rec --json | grep -c '"copy_cycles"'
grep -A6 '"tma": {' gpu.json | grep -o '"[a-z_]*": {"value": [0-9.]*'
fathom bench copies --device sim:v100 | grep '^–'
