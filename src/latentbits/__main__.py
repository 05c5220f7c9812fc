"""`python -m latentbits` is the command line."""

from latentbits.cli.main import main

if __name__ == "__main__":
    main()
