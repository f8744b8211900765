"""What Python writes: nothing that is read or was there before is lost."""

from __future__ import annotations

import pathlib

import pytest

from cajole._native import WholeFile


def test_a_file_appears_when_it_is_complete(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new"
    file = WholeFile(path, reads=[])
    file.write(b"one ")
    file.write(b"two")
    assert not path.exists()
    file.finish()
    assert path.read_bytes() == b"one two"
    with pytest.raises(ValueError, match="is finished"):
        file.write(b"three")
    assert [p.name for p in tmp_path.iterdir()] == ["new"]


def test_what_is_there_is_replaced_only_on_purpose(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "old"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="old exists, and would be replaced"):
        WholeFile(path, reads=[])
    begun = WholeFile(tmp_path / "late", reads=[])
    (tmp_path / "late").write_text("precious")
    with pytest.raises(FileExistsError, match="late exists"):
        begun.finish()
    file = WholeFile(path, reads=[], overwrite=True)
    file.write(b"new")
    assert path.read_text() == "precious"
    file.finish()
    assert path.read_text() == "new"


def test_what_is_read_is_never_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "read"
    path.write_text("precious")
    (tmp_path / "link").symlink_to("read")
    for name in ["read", "link"]:
        with pytest.raises(OSError, match="is the same file as"):
            WholeFile(tmp_path / name, reads=[path], overwrite=True)
    assert path.read_text() == "precious"
