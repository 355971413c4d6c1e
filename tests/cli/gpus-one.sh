fathom gpus k20c
