# Ranges of values, several GPUs, points that are not possible, and tables that sort and choose points.
launch=$FATHOM_ROOT/examples/workloads/atax.json
fathom explore "$launch" --set N=64 --gpu h200,v100 --vary l1.size_bytes=16K..64K --objective time --threads 1
fathom explore "$launch" --set N=64 --gpu h200 --gpu v100 --vary l1.size_bytes=16K..64K:+16K --threads 1 --format csv -q |
    cut -d, -f1,4,5,17,18,19,21
# A file with GPUs is continued only by the same GPUs.
fathom explore "$launch" --set N=64 --gpu h200,v100 --vary l1.policy=srrip,drrip -o gpus.jsonl
fathom explore "$launch" --set N=64 --gpu h200,v100 --vary l1.policy=srrip,drrip -o gpus.jsonl
fathom explore "$launch" --set N=64 --gpu h200 --vary l1.policy=srrip,drrip -o gpus.jsonl; echo $?
fathom merge gpus.jsonl --pareto dram,time
# Points that are not possible are skipped, also when the exploration is continued.
set -- "$launch" --gpu none --set N=64 --set gpu.sms=2 --set l1.size_bytes=12K --vary l1.ways=2..5:+1 --vary l1.policy=lru,plru --threads 1
fathom explore "$@" -o some.jsonl; echo $?
fathom explore "$@" -o some.jsonl; echo $?
fathom merge some.jsonl --pareto l1.ways,l1_hit
fathom explore "$launch" --set N=64 --set gpu.max_warps=1 -q; echo $?
# The columns of the RDGC paper, and wider tables.
fathom explore "$launch" --set N=64 --gpu none --set gpu.sms=2 --vary l1.ways=2,4 --l1-off --rdgc -q
COLUMNS=140 fathom explore "$launch" --set N=64 --gpu h200 --vary l1.ways=2,4 -q
fathom explore "$launch" --objective speed; echo $?
fathom explore "$launch" --pareto time; echo $?
fathom explore "$launch" --gpu none --set N=64 --pareto l1.ways,time -q; echo $?
fathom explore "$launch" --set N=64 --gpu h200 --vary l1.policy=lru,fifo --pareto l1.policy,time -q; echo $?
fathom explore "$launch" --vary l1.ways=8..2; echo $?
fathom explore "$launch" --gpu h200,nothing; echo $?
fathom explore "$launch" --gpu h200,h200; echo $?
