"""`python -m kernlint`."""

from kernlint.cli.main import main

main()
