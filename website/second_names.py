"""A function with a second name (``E = expectation``) is a function under both."""

from __future__ import annotations

from typing import Any

import griffe


class SecondNames(griffe.Extension):
    """Puts the function in the place of an assignment that only names it once more."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Look through a module that was just read."""
        for name, member in list(mod.members.items()):
            assigned = isinstance(member, griffe.Attribute)
            named = mod.members.get(str(member.value)) if assigned else None
            if isinstance(named, griffe.Function):
                mod.set_member(
                    name,
                    griffe.Function(
                        name,
                        lineno=named.lineno,
                        endlineno=named.endlineno,
                        parameters=named.parameters,
                        returns=named.returns,
                        docstring=named.docstring,
                    ),
                )
