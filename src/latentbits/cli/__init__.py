"""The command line. Heavy libraries are imported inside commands, so that `--help` answers at once."""
