#!/usr/bin/env python3
"""Writes the data set "outlines" into FOLDER/outlines, the same bytes everywhere: make_outlines.py FOLDER"""

import pathlib
import random
import sys

SIDE = 16


def outline(kind: int, row: int, column: int, size: int) -> bool:
    rows, columns = abs(row), abs(column)
    if kind == 0:
        return max(rows, columns) == size
    if kind == 1:
        return rows + columns == size
    if kind == 2:
        return min(rows, columns) == 0 and max(rows, columns) <= size
    return rows == columns and rows <= size


def image(kind: int, draw: random.Random) -> bytes:
    size = 3 + int(3 * draw.random())
    row, column = (size + int((SIDE - 2 * size) * draw.random()) for _ in range(2))
    return bytes(
        int(128 * draw.random()) + (127 if outline(kind, y - row, x - column, size) else 0)
        for y in range(SIDE)
        for x in range(SIDE)
    )


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) / "outlines"
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (part, count) in enumerate({"train": 2400, "test": 800}.items()):
        draw = random.Random(seed)
        labels = bytes(int(4 * draw.random()) for _ in range(count))
        (folder / f"{part}-labels.u8").write_bytes(labels)
        (folder / f"{part}-images.u8").write_bytes(b"".join(image(label, draw) for label in labels))


main()
