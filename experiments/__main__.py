"""`python -m experiments`."""

from experiments.runner.command import main

if __name__ == "__main__":
    main()
