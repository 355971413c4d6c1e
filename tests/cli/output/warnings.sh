# An attribute that this version does not know is kept, with a warning on standard error.
printf '{"schema": "fathom-gpu/1", "device": {"name": "x"}, "elements": {"l1": {"size_byte": 5, "new": {"a": [1]}}}, "later": 1}' >new.json
fathom gpus new.json --json
