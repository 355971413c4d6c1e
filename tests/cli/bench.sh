# Tables of a simulated GPU; a name that is none, and a format that is none, are told before anything is measured.
fathom bench banks --device sim:rtx2060
fathom bench atomics --device sim:gtx780 --format csv >seen; head -n 4 seen
fathom bench atomics --device sim:gtx780 --csv | cmp - seen
fathom bench shared --device sim:gtx980 | sed -n '/^Theoretical/,/^copy_of/p'
fathom bench bank --device sim:rtx2060
echo $?
fathom bench --device sim:rtx2060 --format htm
echo $?
# What was found makes a description, and that the same GPU.
fathom bench banks --device sim:gtx780 --describe gpu.json | sed -n '/^banks/,/^latency/p'
fathom bench banks --device sim:gpu.json | sed -n '/^banks/,/^latency/p'
fathom bench atomics --device sim:gtx780 --describe no/such/folder.json >/dev/null
echo $?
