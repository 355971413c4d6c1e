# Every kind of input gives the same counts in trace, model and explore. fathom recognises the kind by
# the content: the names say nothing, and standard input has none.
cp "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" ptx
cat >launch <<'END'
{"schema": "fathom-launch/1", "ptx": "ptx", "sizes": {"N": 500}, "buffers": {"x": "f32[1000]", "y": "f32[1000]"},
 "launches": [{"grid": 4, "block": 256, "args": ["i32:N", "f32:2", "x", "y"]}]}
END
kernel="-e saxpy --grid 4 --block 256 -a i32:1000 -a f32:2 -a ptr:f32[1000] -a ptr:f32[1000]"
fathom trace ptx $kernel -o trace
fathom trace trace --dump >tuples
# Prints the counts of one input; the name of the input is left out.
count() {
    fathom trace "$@" --format csv
    fathom model "$@" --gpu none --set gpu.sms=2 --format csv 2>/dev/null
    fathom explore "$@" --gpu none --set gpu.sms=2 --vary l1.ways=2,4 --format csv 2>/dev/null | cut -d, -f1,2,4-
}
# The same, from standard input: a file, or a pipe.
count_file() {
    file=$1
    shift
    fathom trace - "$@" --format csv <"$file"
    fathom model - --gpu none "$@" --set gpu.sms=2 --format csv 2>/dev/null <"$file"
    fathom explore - --gpu none "$@" --set gpu.sms=2 --vary l1.ways=2,4 --format csv 2>/dev/null <"$file" | cut -d, -f1,2,4-
}
count_pipe() {
    file=$1
    shift
    cat "$file" | fathom trace - "$@" --format csv
    cat "$file" | fathom model - --gpu none "$@" --set gpu.sms=2 --format csv 2>/dev/null
    cat "$file" | fathom explore - --gpu none "$@" --set gpu.sms=2 --vary l1.ways=2,4 --format csv 2>/dev/null | cut -d, -f1,2,4-
}
count ptx $kernel | tee expected
for from in count count_file count_pipe; do
    $from ptx $kernel | cmp - expected && echo "$from ptx"
    $from launch --set N=1000 | cmp - expected && echo "$from launch"
    $from trace | cmp - expected && echo "$from trace"
    $from tuples | cmp - expected && echo "$from tuples"
done
# A trace of Accel-Sim.
traceg=$FATHOM_ROOT/tests/fuzz/corpus/import/traceg
count "$traceg" >expected
count_pipe "$traceg" | cmp - expected && cut -d, -f1-5 expected
# The name of standard input in the results; two inputs with the same file name.
mkdir other && echo '0 0 0 R 4' >other/tuples
fathom explore - --gpu none tuples other/tuples --set gpu.sms=2 --threads 1 --format csv <trace | cut -d, -f1-6
# run uses the same recognition and the same options.
fathom run launch --set N=1000 --show 1
fathom run ptx $kernel --show 1
fathom run trace; echo $?
fathom model launch --gpu none -g 4; echo $?
fathom explore ptx --gpu none $kernel --set N=3; echo $?
fathom model - --gpu - <trace; echo $?
: | fathom explore - --gpu none; echo $?
# The trace itself can go to standard output; then nothing else can.
fathom trace ptx $kernel -o - | cmp - trace
fathom trace ptx $kernel -o - --lines; echo $?
ls
