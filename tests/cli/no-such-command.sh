fathom gpu
echo $?
fathom frobnicate
echo $?
fathom help gpsu
