# Tables of a simulated GPU; a name that is none, and a format that is none, are told before anything is measured.
fathom bench banks --device sim:rtx2060
fathom bench atomics --device sim:gtx780 --format csv | head -n 4
fathom bench bank --device sim:rtx2060
echo $?
fathom bench --device sim:rtx2060 --format htm
echo $?
