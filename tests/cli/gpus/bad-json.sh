# Invalid descriptions: one line with the file, the place and the reason, and exit code 2.
check() { fathom gpus "$1"; echo $?; }
printf '{"schema": "fathom-gpu/1", "device": {"name": "x"}, "elements": {"l1": {"line_bytes": 100, "size_bytes": 16384}}}' >line.json
check line.json
printf '{"schema": "fathom-gpu/1", "device": {"name": "x"}, "elements": {"l1": {"sets": 4, "sets": 4}}}' >twice.json
check twice.json
head -c 2000 "$FATHOM_ROOT/data/gpus/v100.json" >truncated.json
check truncated.json
: >empty.json
check empty.json
printf '\000\001\002\377' >binary.json
check binary.json
echo '"just a text"' >text.json
check text.json
printf '{"schema": "fathom-gpu/1", "device": {"name": "x"}, "elements": {"l1": {"\033[31mred\n": 1}, "l2": {"sets": NaN}}}' >escape.json
check escape.json
mkdir folder
check ./folder
