"""A query to DuckDB, in a process of its own: this file is run as a program.

The process starts in the folder of the study, so relative paths begin there; DuckDB itself refuses
every other folder, the network, extensions and changed settings; and of the environment there is
nothing to read. It takes one line of JSON, and answers with one line of JSON, then the table.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from typing import Any

_CLOSED: dict[str, Any] = {
    # No code from elsewhere, no network, no variables of this process.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _connect(duckdb: Any, asked: dict[str, Any]) -> Any:
    # What does not fit into memory goes neither to the folder of the study nor to that of the user.
    spilled = os.path.join(tempfile.gettempdir(), f"elfair-duckdb-{os.getpid()}")
    database = duckdb.connect(config={**_CLOSED, "temp_directory": spilled})
    kind = asked["kind"]
    if asked["attached"] is not None:
        if kind != "duckdb":
            try:
                database.load_extension(kind)
            except duckdb.Error:
                raise LookupError(kind) from None
        database.execute(f"ATTACH {_quoted(asked['attached'])} AS source (TYPE {kind}, READ_ONLY)")
        database.execute("USE source")
    folders = ", ".join(map(_quoted, asked["folders"]))
    database.execute(f"SET allowed_directories = [{folders}]")
    database.execute("SET enable_external_access = false")
    # A select can call functions that change settings, such as where a log is written.
    database.execute("SET lock_configuration = true")
    return database


def answer(asked: dict[str, Any], out: Any) -> dict[str, Any]:
    """What is said, while the table that was asked for is written to a stream.

    Parameters
    ----------
    asked : dict
        ``query``; ``columns``, or None to hear of their names; ``attached``, a file or server, of
        some ``kind``; the ``folders`` that may be read.
    out : file
        Where the table goes.
    """
    import duckdb

    try:
        kinds = [statement.type.name for statement in duckdb.extract_statements(asked["query"])]
        if kinds != ["SELECT"]:
            return {"kinds": kinds}
        relation = _connect(duckdb, asked).sql(asked["query"])
        if asked["columns"] is None:
            return {"names": list(relation.columns)}
        wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in asked["columns"])
        table = relation.project(wanted).to_arrow_table()
    except LookupError as error:
        return {"extension": str(error.args[0])}
    except duckdb.Error as error:
        return {"refused": str(error)}
    import pyarrow as pa

    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return {}


def main() -> None:
    """Answer one question."""
    asked = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = asked["path"]
    table = io.BytesIO()
    said = answer(asked, table)
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + table.getvalue())


if __name__ == "__main__":
    main()
