"""Files and folders: arrays with a checksum, model files, the data of fits, checkpoints, run folders."""
