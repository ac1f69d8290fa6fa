from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from elfair.cli import main
from elfair.data.looks import LooksOfProcess, counted_in

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def elfair():
    """Run a command as a terminal would, in a process of its own as far as looks go."""

    def run(*arguments, code=0):
        with counted_in(LooksOfProcess()):
            result = CliRunner().invoke(main, [str(each) for each in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return run
