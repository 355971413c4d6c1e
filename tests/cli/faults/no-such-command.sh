# Unknown commands: the message suggests a similar one.
fathom gpu
echo $?
fathom frobnicate
echo $?
fathom help gpsu
