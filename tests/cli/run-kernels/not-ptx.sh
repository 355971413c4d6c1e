# Binary files instead of PTX: the message says what the file is and how to get PTX. Nothing of a file reaches the terminal as a control
# character or an invalid byte.
printf '\177ELF\002\001\001\000\033[31mred' >kernel.cubin
printf '\120\355\125\272\001\000\020\000\033]0;title\007' >kernel.fatbin
printf '.version 7.0\n\000' >nul.ptx
for file in kernel.cubin kernel.fatbin nul.ptx; do
    for command in run trace "model --gpu none" "explore --gpu none"; do
        fathom $command $file 2>&1 | grep -v "^fathom: generic parameters"
    done
done
fathom run kernel.fatbin 2>/dev/null; echo $?
echo '{"schema": "fathom-launch/1", "ptx": "kernel.cubin", "launches": [{"grid": 1, "block": 32}]}' >launch.json
fathom run launch.json 2>&1
# Text with control characters, invalid UTF-8, and characters that change the direction of text. The caret is below the token.
printf '.version 7.0\n.target sm_70\n.address_size 64\n\t/* \303\251 \342\200\256 \355 \033[31m */ .frob x;\n' >bytes.ptx
fathom run bytes.ptx 2>err
cat err
LC_ALL=C tr -d '\012\040-\176' <err | od -An -tx1
