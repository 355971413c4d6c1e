# Measures a simulated GPU and prints it as a drawing and as JSON, with the source of each figure. The
# document can be read back and gives the same drawing and the same JSON.
fathom topo --device sim:v100 --record v100.rec | tee drawn
fathom topo --device replay:v100.rec --json | tee v100.json
fathom gpus v100.json | cmp - drawn
fathom gpus v100.json --json | cmp - v100.json
