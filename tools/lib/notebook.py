"""Runs the code of notebooks, cell by cell, without Jupyter: python notebook.py FILE ..."""

import json
import sys
from pathlib import Path

for path in map(Path, sys.argv[1:]):
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}[{number}]", "exec"), names)
    print(f"notebook: {path.name} ran")
