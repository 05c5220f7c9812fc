"""`python -m latentbits.cli` is `latentbits`."""

from latentbits.cli.main import main

if __name__ == "__main__":
    main()
