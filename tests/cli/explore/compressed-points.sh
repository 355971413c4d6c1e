# Points cannot be added to a compressed file, which stays as it is. It can be merged.
echo '0 0 0 R 4' >tuples
set -- tuples --gpu none --vary l1.ways=2,4 --threads 1
fathom explore "$@" -o points
zstd -q points -o points.zst
head -n 2 points | zstd -q >part.zst
cp points.zst before && cp part.zst part-before
fathom explore "$@" -o points.zst; echo $?
fathom explore "$@" -o part.zst; echo $?
cmp points.zst before && cmp part.zst part-before
fathom merge points.zst -o merged && cmp merged points
fathom merge part.zst; echo $?
fathom merge part.zst points.zst -o points.zst && cmp points.zst points
