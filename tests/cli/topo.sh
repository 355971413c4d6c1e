# A simulated GPU is measured, drawn and listed; the document has the source of each figure, is read
# back as it is, and shows the same drawing.
fathom topo --device sim:v100 | tee drawn
fathom topo --device sim:v100 --json | tee v100.json
fathom gpus v100.json | cmp - drawn
fathom gpus v100.json --json | cmp - v100.json
