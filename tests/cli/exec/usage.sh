# Errors before a program is run.
fathom exec
echo "exit code $?"
fathom exec --gpu
echo "exit code $?"
fathom exec --lnes -- true
echo "exit code $?"
fathom exec -o /nowhere/table.txt -- true
echo "exit code $?"
fathom exec --trace /nowhere/t.trace -- true
echo "exit code $?"
fathom exec --launch 5..3 -- true
echo "exit code $?"
fathom exec --launch 5x -- true
echo "exit code $?"
fathom exec --kernel '((' -- true
