"""XML whose elements know their line."""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hooke.importers.error import FileError

__all__ = ["Node", "parse_xml"]


@dataclass
class Node:
    """An element with its line; the accessors raise errors that name it."""

    path: str
    tag: str
    line: int
    values: dict[str, str]
    children: list[Node] = field(default_factory=list)

    @property
    def where(self) -> str:
        """How messages call it."""
        name = f" name={self.values['name']!r}" if "name" in self.values else ""
        return f"line {self.line}, <{self.tag}{name}>"

    def all(self, *tags: str) -> Iterator[Node]:
        """Children of some tags, in order."""
        return (child for child in self.children if child.tag in tags)

    def one(self, tag: str) -> Node | None:
        """The first child of a tag."""
        return next(self.all(tag), None)

    def fail(self, problem: str) -> FileError:
        """An error about this element."""
        return FileError(self.path, f"{self.where}: {problem}")

    def need(self, name: str) -> str:
        """An attribute that must be there."""
        if name not in self.values:
            raise self.fail(f"the attribute {name!r} is missing")
        return self.values[name]

    def child(self, tag: str) -> Node:
        """A child that must be there."""
        found = self.one(tag)
        if found is None:
            raise self.fail(f"the element <{tag}> is missing")
        return found

    def numbers(self, name: str, count: int, default: Any = None) -> np.ndarray:
        """``count`` finite numbers of an attribute, float64; ``default`` None means that it must be there."""
        if name not in self.values and default is not None:
            return np.asarray(default, np.float64)
        text = self.need(name)
        try:
            values = np.array([float(word) for word in text.split()])
        except ValueError:
            values = np.empty(0)
        if len(values) != count or not np.isfinite(values).all():
            raise self.fail(f"{name}: expected {count} finite number{'s' if count > 1 else ''}, found {text!r}")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        """One finite number of an attribute."""
        return float(self.numbers(name, 1, None if default is None else [default])[0])


def parse_xml(path: str, text: bytes | str) -> Node:
    """The root element.

    Raises:
        FileError: The text is not well-formed; the message names the line.
    """
    parser = xml.parsers.expat.ParserCreate()
    stack: list[Node] = []
    roots: list[Node] = []

    def start(tag: str, values: dict[str, str]) -> None:
        node = Node(path, tag, parser.CurrentLineNumber, values)
        (stack[-1].children if stack else roots).append(node)
        stack.append(node)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: stack.pop()
    try:
        parser.Parse(text, True)
    except xml.parsers.expat.ExpatError as error:
        open_ = f"; <{stack[-1].tag}> of line {stack[-1].line} is not closed" if stack else ""
        raise FileError(path, f"line {error.lineno}: not well-formed XML ({error}){open_}; is the file cut off?") from error
    return roots[0]
