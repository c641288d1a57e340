"""`python -m twinlog`."""

from twinlog.surface.cli.main import main

main()
