# Unknown options, missing or unexpected values, and too many arguments.
fathom gpus --jsn
echo $?
fathom gpus -x
echo $?
fathom gpus --json=yes
echo $?
fathom gpus --format
echo $?
fathom gpus --format xml
echo $?
fathom gpus a b
echo $?
fathom --zzzz
