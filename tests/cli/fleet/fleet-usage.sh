# Errors in the arguments of fleet.
fathom fleet
echo "code $?"
fathom fleet jugde .
echo "code $?"
for action in judge collect reference; do
    fathom fleet $action
    echo "code $?"
done
fathom fleet judge nowhere
echo "code $?"
fathom fleet judge . --mix driver
echo "code $?"
fathom fleet judge . --min-effect 0
echo "code $?"
fathom fleet judge . --false-alarms much
echo "code $?"
fathom fleet judge . --reference nowhere.json
echo "code $?"
fathom fleet judge . --groups nowhere.csv
echo "code $?"
fathom fleet judge . -o nowhere/file
echo "code $?"
mkdir empty
fathom fleet judge empty
echo "code $?"
fathom fleet reference empty
echo "code $?"
echo '{"schema": "fathom-gpus/7"}' >odd.json
fathom fleet judge odd.json
echo "code $?"
fathom fleet reference odd.json
echo "code $?"
