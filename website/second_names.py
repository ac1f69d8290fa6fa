"""A function with a second name (``E = expectation``) is a function under both."""

from __future__ import annotations

from typing import Any

import griffe


class SecondNames(griffe.Extension):
    """Replace an assignment that only renames a function by the function itself."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Look for renamed functions in a module that griffe just read."""
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
