# Tuples of blocks and threads outside of the stated grid and block are refused. Without a stated shape, the launch is as large as needed.
try() { printf "$1" | fathom trace - --format csv 2>&1 | tail -n 1; }
try '# kernel k\n# grid 2 3 2\n0 11 0 R 4\n'
try '# kernel k\n# grid 2 3 2\n0 3 0 R 4\n0 12 0 R 4\n'
try '# kernel k\n# grid 2 3 2\n0 11 0 R 4\n# kernel l\n# grid 2 1 1\n0 2 0 R 4\n'
try '0 2 0 R 4\n# grid 2 1 1\n'
try '# grid 2147483647 2147483647 2147483647\n0 4294967294 0 R 4\n'
try '# block 20 2 1\n0 0 39 R 4\n'
try '# block 20 2 1\n0 0 40 R 4\n'
try '# block 20 2 1\n0 0 1 R 8 1 2 3 4 5 6 7 8\n'
try '# block 20 2 1\n0 0 1 R 9 1 2 3 4 5 6 7 8 9\n'
try '# block 32 1 1\n0 0 1 R 1 4\n'
printf '0 6 0 R 4\n0 0 70 R 4\n' | fathom trace - --dump | grep -e grid -e block
