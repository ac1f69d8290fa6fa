"""The container of a model: a zip file that any tool opens, written in one way only.

Members are stored as they are, and everything that a zip file may say in more than one way (times,
systems, order) is fixed. So the same members always make the same bytes, and a file of which any
byte was changed differs from what its members would be written as.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from elfair.errors import InputError

#: The earliest that a zip file can say.
_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _READABLE = 3, 0o100644 << 16
_CHANGED = "it was changed or cut short: get it again from where it was saved."


def pack(members: Mapping[str, bytes]) -> bytes:
    """The bytes of a container.

    Examples
    --------
    >>> pack({"a": b"1"}) == pack({"a": b"1"})
    True
    """
    file = BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, data in members.items():
            entry = ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _UNIX, _READABLE
            archive.writestr(entry, data)
    return file.getvalue()


def members_of(data: bytes) -> dict[str, bytes]:
    """The members of a zip file; one that would take more memory than its bytes is refused.

    Examples
    --------
    >>> members_of(pack({"a": b"1", "b": b"2"}))
    {'a': b'1', 'b': b'2'}
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            stored = all(entry.compress_type == ZIP_STORED for entry in entries)
            if not stored or sum(entry.file_size for entry in entries) > len(data):
                raise InputError(
                    "its parts are compressed, or together larger than the file.", hint=_CHANGED
                )
            return {entry.filename: archive.read(entry) for entry in entries}
    except InputError:
        raise
    except Exception as error:  # zipfile has many ways to say that something is wrong
        raise InputError(f"it is not a whole zip file ({error}).", hint=_CHANGED) from None


def check_written(data: bytes, members: Mapping[str, bytes]) -> None:
    """Raise unless these bytes are exactly what the members are written as.

    Examples
    --------
    >>> check_written(pack({"a": b"1"}), {"a": b"1"})
    """
    if pack(members) != data:
        raise InputError("its bytes are not those that its parts are written as.", hint=_CHANGED)
