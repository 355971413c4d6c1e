# Benchmarks of the memory of a simulated GPU, and of the link to its host, which the description does not cover. A replay gives the
# same tables.
fathom bench stream global link --device sim:gtx780 --record memory.rec | tee seen
fathom bench stream global link --device replay:memory.rec | cmp - seen
fathom bench stream --device replay:memory.rec --format csv | head -n 6
# A driver without pinned memory.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=gtx980 FATHOM_STANDIN=no-pinned
fathom bench link --device cuda:0 --record link.rec | grep '^– '
fathom bench link --device replay:link.rec >again; echo $?
