# The ways of instruction caches, and of a constant L1.5 that is one of them.
cat >code.json <<END
{"schema": "fathom-gpu/1", "device": {"name": "Code", "sms": 4, "compute_capability": "9.0"},
 "elements": {"constant_l1": {"size_bytes": 2048, "line_bytes": 64, "latency_cycles": 28},
   "constant_l15": {"size_bytes": 131072, "line_bytes": 256, "sets": 64, "ways": 8, "latency_cycles": 102,
     "shared_with": ["instruction_l1"]},
   "instruction_l0": {"size_bytes": 32768, "line_bytes": 128, "sets": 64, "ways": 4, "cycles_per_instruction": 1.1},
   "instruction_l1": {"size_bytes": 131072, "line_bytes": 256, "sets": 64, "ways": 8, "cycles_per_instruction": 2.2,
     "shared_with": ["constant_l15"]},
   "l2": {"scope": "gpu", "size_bytes": 2097152, "line_bytes": 128, "latency_cycles": 250},
   "memory": {"scope": "gpu", "size_bytes": 4294967296, "latency_cycles": 500}}}
END
fathom dissect --device sim:code.json constant_l15
echo "exit code $?"
fathom dissect --device sim:code.json instruction_l0
echo "exit code $?"
# Instructions of a Maxwell GPU do not have 16 bytes.
sed 's/"9.0"/"5.2"/' code.json >old.json
fathom dissect --device sim:old.json instruction_l1
echo "exit code $?"
