"""The notebooks of examples/, cell by cell, without Jupyter."""

from __future__ import annotations

import json

import pytest
from conftest import ROOT, Service

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_there_is_one() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_runs(path, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("LOCUS_SERVER", service.address)
    document = json.loads(path.read_text())
    assert document["nbformat"] == 4
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(document["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "outputs are not stored: they rot"
        exec(compile("".join(cell["source"]), f"{path.name}[{number}]", "exec"), names)
    board = names["board"]
    assert [row.n for row in board] == [3, 3]  # type: ignore[attr-defined]
