# Belady's bound beside replacement policies, without time, and why the model with time does not have it.
launch=$FATHOM_ROOT/examples/workloads/atax.json
fathom explore "$launch" --set N=128 --gpu h200 --set gpu.timing=off --set l1.size_bytes=8K --vary l1.policy=lru,clock,drrip,belady --threads 1 -q
fathom explore "$launch" --set N=64 --gpu none --set gpu.sms=2 --set l1.size_bytes=1K --set l1.sets=1 --set l2.size_bytes=2K --vary l1.policy=lru,belady --vary l2.policy=lru,belady --threads 1 --format csv -q |
    cut -d, -f4-6,8-10,14
# Without gpu.timing, only the other points have times.
fathom explore "$launch" --set N=64 --gpu h200 --vary l1.policy=lru,belady --threads 1
fathom model "$launch" --set N=64 --gpu h200 --set l1.policy=belady
fathom model "$launch" --set N=64 --gpu h200 --set l2.policy=belady --set gpu.timing=on; echo $?
fathom model --parameters --gpu h200 --set l2.policy=belady | grep policy
