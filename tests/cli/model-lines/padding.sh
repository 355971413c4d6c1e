# Bank conflicts of doubles: the tile of the first kernel has rows of 32 doubles, that of the second one 33. The padded
# wavefronts of the first one are those of the second one, and the hint names a padding of 8 bytes.
d=$FATHOM_ROOT/examples/diagnosis/more
fathom trace "$d/batch.json" --set N=64 --lines --format csv >lines
cut -d , -f 1,4,5,6,7,12- lines | grep -v ,,
awk -F , '$5 == "shared read" { wavefronts[$1] += $12; padded[$1] += $14 }
    END { print "rows of 32:", wavefronts["batch_unpadded"], "padded:", padded["batch_unpadded"]
          print "rows of 33:", wavefronts["batch_padded"] }' lines
fathom model "$d/batch.json" --set N=64 --gpu h200 -q --hints | sed -n '/^Hints/,$p'
