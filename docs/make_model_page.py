"""Write docs/guide/model.md from the declarations of the tables."""

from pathlib import Path

import warp as wp

from hooke.data.table import Column
from hooke.model.tables import TABLES

PAGE = Path(__file__).parent / "guide" / "model.md"


def type_of(column: Column) -> str:
    """Element type and shape of a column's array, n being the number of rows."""
    if column.is_list:
        return "list"
    name = {wp.float32: "float", wp.int32: "int", wp.bool: "bool", wp.uint64: "uint64"}.get(column.dtype)
    name = name or {"vec3f": "vec3", "transformf": "transform", "mat33f": "mat33", "mat22f": "mat22"}.get(
        column.dtype.__name__, column.dtype.__name__
    )
    shape = f"({column.width} n)" if column.flat else f"(n, {column.width})" if column.width > 1 else "(n)"
    return f"{name} {shape}"


def page() -> str:
    """The text of the page."""
    lines = [
        "# The model",
        "",
        "Made by `docs/make_model_page.py` from the declarations of the tables. Every array is an attribute of `Model` under the name",
        "below and, where not marked *derived*, a list of `ModelBuilder` under the same name. n is the number of rows, which is",
        "`model.<kind>_count`.",
    ]
    for table in TABLES:
        lines += ["", f"## {table.name}", "", table.doc, "", "| name | array | unit | meaning |", "|---|---|---|---|"]
        for column in table.columns:
            doc = column.doc + (" *Derived.*" if column.derived else "")
            lines.append(f"| `{table.prefix}{column.name}` | {type_of(column)} | {column.unit} | {doc} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
