# Dissection of caches of the GPUs in Table 5 of Mei and Chu, on simulated GPUs.
# Skipped under sanitizers: the unit tests of dissection execute the same code.
fathom dissect --device sim:gtx780 texture constant_l1
fathom dissect --device sim:gtx560ti l1 --series loads.csv | sed -n '1,5s|weighted [0-9.,]*|weighted|p; 1,4p' | uniq
head -n 2 loads.csv
awk -F, 'NR > 1 { loads[$5]++ } END { print loads["hit"] + loads["miss"], "loads" }' loads.csv
fathom dissect --device sim:p100 readonly --json | sed -n '/"sets"/,/value/p; /"index"/,/value/p' | grep -o '"[a-z]*": {\|"value": [^,]*'
# TLBs, the latency patterns, and an L1 that is virtually addressed.
fathom dissect --device sim:gtx980 l1 tlb_l1 tlb_l2 | sed '/^l1: misses/,$d'
# --series has every load of a chain with one page more than the TLB holds.
fathom dissect --device sim:gtx560ti tlb_l1 tlb_l2 --series pages.csv | sed -n '/^tlb_l2: misses/,$p'
awk -F, 'NR > 1 { loads[$1 " " $5]++ } END { for (of in loads) print of, loads[of] }' pages.csv | sort
# An L2 with two partitions.
cat >two.json <<END
{"schema": "fathom-gpu/1", "device": {"name": "Two", "sms": 4},
 "elements": {"l2": {"scope": "gpu", "size_bytes": 2097152, "line_bytes": 128, "partitions": 2, "latency_cycles": 200,
   "far_latency_cycles": 320, "home_mask": 155648}, "memory": {"scope": "gpu", "size_bytes": 4294967296, "latency_cycles": 500}}}
END
fathom dissect --device sim:two.json l2
# An L2 whose sets are not found.
fathom dissect --device sim:gtx980 l2
