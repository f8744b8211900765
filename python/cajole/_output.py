"""Outputs as rules see them."""

from __future__ import annotations


class Output(str):
    """An output: its text, and its symbols one by one."""

    symbols: tuple[str, ...]
    """The names of the output's symbols: characters, words, commands or tags."""

    __slots__ = ("symbols",)

    def __new__(cls, text: str, symbols: tuple[str, ...]) -> Output:
        output = super().__new__(cls, text)
        object.__setattr__(output, "symbols", symbols)
        return output

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an output cannot be changed: {name!r} is read-only")
