# Descriptions in share/fathom/gpus next to the program are found and override the built-in ones.
mkdir -p prefix/bin prefix/share/fathom/gpus
cp "$FATHOM_PROGRAM" prefix/bin/fathom
sed 's/"Tesla V100"/"Our own V100"/' "$FATHOM_ROOT/data/gpus/v100.json" >prefix/share/fathom/gpus/v100.json
sed 's/"Tesla V100"/"Site GPU"/' "$FATHOM_ROOT/data/gpus/v100.json" >prefix/share/fathom/gpus/site.json
echo junk >prefix/share/fathom/gpus/broken.json
prefix/bin/fathom gpus 2>err | grep -E 'V100|Site|a100'
sed 's|/.*/broken|…/broken|' err
prefix/bin/fathom gpus >/dev/null 2>&1; echo $?
prefix/bin/fathom gpus site --json | grep '"name"'
rm prefix/share/fathom/gpus/broken.json
# A pipe in this folder is ignored, and not waited for.
mkfifo prefix/share/fathom/gpus/pipe.json
timeout 20 prefix/bin/fathom gpus | grep -c pipe
prefix/bin/fathom gpus v100 --json | grep '"name"'
# Without the folder, the built-in descriptions are used.
rm -r prefix/share
prefix/bin/fathom gpus v100 --json | cmp - "$FATHOM_ROOT/data/gpus/v100.json"
