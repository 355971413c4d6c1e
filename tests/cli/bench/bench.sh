# Tables of a simulated GPU. Unknown benchmarks and formats are reported before anything is measured.
# Skipped under sanitizers: bench-all executes the same code.
fathom bench banks --device sim:rtx2060
fathom bench atomics --device sim:gtx780 --record atomics.rec --format csv >seen; head -n 4 seen
fathom bench atomics --device replay:atomics.rec --csv | cmp - seen
fathom bench shared --device sim:gtx980 | sed -n '/^Theoretical/,/^copy_of/p'
fathom bench bank --device sim:rtx2060
echo $?
fathom bench --device sim:rtx2060 --format htm
echo $?
# All benchmarks can be named in one call: the message is about the last name.
fathom bench banks shared scaling latency arith atomics global copies link stream steam --device sim:rtx2060
echo $?
# --describe writes the results as a description. A simulated GPU made from it gives the same results.
fathom bench banks --device sim:gtx780 --describe gpu.json | sed -n '/^banks/,/^latency/p'
fathom bench banks --device sim:gpu.json | sed -n '/^banks/,/^latency/p'
fathom bench atomics --device replay:atomics.rec --describe no/such/folder.json >/dev/null
echo $?
