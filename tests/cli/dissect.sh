# Caches are taken apart: Mei and Chu's Table 5 on the GPUs they had.
fathom dissect --device sim:gtx780 texture constant_l1
fathom dissect --device sim:gtx560ti l1 --series loads.csv | sed -n '1,3s|weighted [0-9.,]*|weighted|p; 1,2p' | uniq
head -n 2 loads.csv
awk -F, 'NR > 1 { loads[$5]++ } END { print loads["hit"] + loads["miss"], "loads" }' loads.csv
fathom dissect --device sim:p100 readonly --json | sed -n '/"sets"/,/value/p; /"index"/,/value/p' | grep -o '"[a-z]*": {\|"value": [^,]*'
fathom dissect --device sim:gtx980 l2
