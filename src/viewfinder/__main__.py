"""`python -m viewfinder`: the same as the command `viewfinder`."""

from viewfinder.cli import main

if __name__ == "__main__":
    main()
