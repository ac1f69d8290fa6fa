"""``python -m elfair.cli`` is the command ``elfair``, also where no script was installed."""

from elfair.cli import main

main(prog_name="elfair")
