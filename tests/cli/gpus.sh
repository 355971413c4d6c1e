fathom gpus
