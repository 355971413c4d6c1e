# Messages pass no control characters to the terminal: C0 and C1 controls, bidirectional controls, invalid UTF-8.
show() { "$@" 2>&1 | LC_ALL=C sed -n l | sed 's/\\$$//'; }
name=$(printf 'a\033[31m\302\233b\342\200\256c\342\201\246d\377\302e')
show fathom gpus "$name"
show fathom "$name"
show fathom topo "--$name"
show fathom gpus v100 -o "$name/x"
show fathom merge "$name"
printf '{"schema": "fathom-gpu/1", "device": {"name": "x", "\342\200\256x\302\233": 1}, "elements": {}}' >gpu.json
show fathom gpus gpu.json --format csv
printf '{"schema": "fathom-gpu/1", "device": {"name": "=1+1", "vendor": "\\u001b[31m", "chip": "@x", "architecture": "-5", "sms": 1}, "elements": {}}' >gpu.json
show fathom gpus gpu.json --format csv
printf '{"schema": "fathom-gpu/1", "device": {"name": "a\\uffffb\\ufffec\\u0001d<&>\\"", "sms": 1}, "elements": {}}' >gpu.json
fathom gpus gpu.json --format hwloc | grep -a -o 'a?b?c?d[^"]*'
printf '.version 7.0\n.target sm_70\n/* \302\233\342\200\256\033 */ bad;\n' >k.ptx
show fathom run k.ptx
