# Deep nesting, a gigabyte of zeros and endless input are rejected quickly, with a one-line message each.
head -c 100000 /dev/zero | tr '\0' '[' >deep.json
timeout 60 fathom gpus deep.json; echo $?
head -c 1073741824 /dev/zero | timeout 60 fathom gpus -; echo $?
yes '{"a": ' | head -c 100000 | timeout 60 fathom gpus -; echo $?
yes 1 | timeout 60 fathom gpus -; echo $?
