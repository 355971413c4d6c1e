# Descriptions of GPUs of other vendors, and of a CPU: the drawing, the other formats, and the commands that take a description.
fathom gpus mi300x
fathom gpus rx7900xtx | head -45
fathom gpus a770 | head -20
echo '- formats'
fathom gpus mi300x --format csv | grep -E '^(vector_l1|scalar_l1|lds|l2|l3),(scope|size_bytes|instances|sms_per_instance),' | cut -d, -f1-3
fathom gpus mi300x --format hwloc | grep -cE 'type="L[23]Cache"'
fathom gpus mi300x --format mt4g | grep -cE '"(scalarL1|l3|numXCDs)"'
echo '- a CPU'
cat >cpu.json <<'END'
{"schema": "fathom-gpu/1", "device": {"name": "A CPU", "vendor": "ARM", "kind": "cpu", "sms": 4, "clock_mhz": 3000, "clock_source": "cntvct_el0"},
 "elements": {"l1": {"size_bytes": 65536, "line_bytes": 64, "sets": 256, "ways": 4, "latency_cycles": 4},
  "l2": {"scope": "sm", "size_bytes": 1048576, "line_bytes": 64, "ways": 8, "latency_cycles": 13},
  "l3": {"sms_per_instance": 2, "instances": 2, "size_bytes": 33554432, "latency_cycles": 60}, "memory": {"latency_ns": 110}}}
END
fathom gpus cpu.json
echo '- commands'
fathom compare mi300x mi210 --format csv | head -8
fathom compare cpu.json mi210 | head -6
echo '0 0 0 R 4' >tuples
fathom model tuples --gpu mi300x; echo $?
fathom model --parameters --gpu cpu.json; echo $?
fathom explore tuples --gpu a770 --vary l1.ways=8; echo $?
fathom gpus mi300x --json >mi300x.json
fathom report mi300x.json cpu.json -o report.html && grep -c 'AMD Instinct MI300X' report.html
