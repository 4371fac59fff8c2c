"""The client against the real server, and a worker that trains."""

from __future__ import annotations

import io
import json
import math
import threading
from pathlib import Path

import pytest
from conftest import ROOT, SMALL, Service, run_locus

import locus
from locus.progress import Progress
from locus.v1 import experiment_service_pb2


def test_submits_waits_and_reads_the_numbers_of_the_command_line(client: locus.Client) -> None:
    experiment = client.submit(SMALL, changes={"name": "python"})
    assert experiment.wait(timeout=240).state == "completed"

    board = experiment.leaderboard()
    table = json.loads(run_locus("leaderboard", "python", "--json", "--server", client.address))
    assert [row.label for row in board] == [row["label"] for row in table["rows"]]
    assert [row.mean for row in board] == [row["mean"] for row in table["rows"]]
    assert {row.label: row.n for row in board} == {"none": 2, "learned-absolute": 2}
    assert [row.rank for row in board] == [1, 2]
    other = next(row for row in board if not row.baseline)
    assert other.pairs == 2 and other.p_floor == 0.5
    assert math.isclose(other.difference, other.mean - next(row.mean for row in board if row.baseline))

    frame = board.to_pandas()
    assert list(frame.index) == [row.label for row in board]
    assert frame.loc["none", "mean"] == next(row.mean for row in board if row.label == "none")
    assert "top1" in str(board) and "<table>" in board._repr_html_()

    table = experiment.pivot_table(rows=["prior"], metrics=["top1", "loss:validation"], differences=True, detect=1.0)
    said = json.loads(run_locus("table", "python", "--rows", "prior", "--metric", "top1", "--metric", "loss:validation",
                                "--differences", "--detect", "1", "--json", "--server", client.address))
    assert [cell.mean for cell in table.message.cells] == [cell["mean"] for cell in said["cells"]]
    frame = table.to_pandas()
    assert list(frame.columns[:2]) == ["prior", "metric"] and list(frame["n"]) == [2] * 4
    assert frame["mean"][0] == next(row.mean for row in board if row.label == "none")
    assert "\\toprule" in table.latex and "python/0" in table.latex and "<table" in table._repr_html_()
    with pytest.raises(locus.InvalidArgument, match="no axis 'nothing'"):
        experiment.pivot_table(rows=["nothing"])

    curves = experiment.curves("loss", split="train")
    assert ("loss", "train", "{}") in curves.available
    frame = curves.to_pandas()
    assert sorted(frame["seed"].unique()) == [0, 1]
    assert set(frame["label"]) == {"none", "learned-absolute"}
    assert len(frame) == sum(len(one.step) for one in curves) > 0
    assert frame["value"].notna().all()
    assert frame["epoch"].iloc[-1] == 1.0 and frame["images"].iloc[-1] == 128 and (frame["seconds"] >= 0).all()

    assert experiment.annotate(add=["paper", "draft"], note="first").note == "first"
    assert experiment.tags == ["draft", "paper"] and experiment.note == "first"
    assert list(experiment.annotate(add=["outlier"], trial=1).tags) == ["outlier"]
    assert experiment.annotate(remove=["draft"]).note == "first", "a note stays unless another is given"
    assert [one.name for one in client.experiments(tags=["paper"])] == ["python"]
    assert client.experiments(tags=["paper", "draft"]) == []

    assert experiment.specification["name"] == "python"


def test_reads_the_claims_of_papers_beside_what_was_measured(client: locus.Client) -> None:
    printed = client.claims("active-spatial-guidance", table="Table 2")
    assert [one.row for one in printed][:2] == ["Guidance", "RoPE"]
    assert (printed[0].value, printed[0].std, printed[0].n, printed[0].prior) == (72.26, 0.7, 4, ["guidance"])
    assert printed[0].setting["dataset"] == "imagenet-100" and not printed[0].measured
    assert printed[0].options == {"guidance.lambda": "300"}
    assert printed[1].code_options == {"rope-axial.flavor": "dinov3"}
    assert "violin" in printed.papers and not printed.summaries
    with pytest.raises(locus.InvalidArgument) as refused:
        client.claims("violn")
    assert refused.value.field == "paper"

    client.submit(SMALL, changes={"name": "claims"}).wait(timeout=240)
    beside = client.claims("active-spatial-guidance", experiment="claims", table="Table 2")
    assert [one.row for one in beside] == ["AbsPE", "No-PE"]
    match = beside[1].measured[0]
    assert (match.label, match.n) == ("none", 2)
    assert "dataset: imagenet-100 in the paper, fashion-mnist here" in match.differences
    assert match.sentence.startswith("paper -4.45 over RoPE, which this experiment lacks; here ")
    assert (beside[1].verdict, beside[1].why) == ("not-comparable", "no-baseline")
    assert [(one.table, one.numbers) for one in beside.summaries] == [("", 6), ("Table 2", 6)]
    assert list(beside.to_pandas()["here_label"]) == ["learned-absolute", "none"]
    assert match.sentence in str(beside)


def test_runs_only_what_nobody_ran_yet(client: locus.Client) -> None:
    client.submit(SMALL, changes={"name": "first"}).wait(timeout=240)
    plan = client.plan(SMALL, changes={"name": "second", "replicates.seed": [0, 1, 2]})
    assert (plan.trials, plan.exists) == (6, False)
    assert plan.stages_done > 0 and plan.stages_to_run == plan.stages_total - plan.stages_done


def test_waits_through_a_restart_of_the_server(quiet: Service) -> None:
    with locus.connect(quiet.address, patience=20) as client:
        experiment = client.submit(SMALL, changes={"name": "away"})
        ended: list[str] = []
        waiting = threading.Thread(target=lambda: ended.append(experiment.wait(check=False, timeout=120).state))
        waiting.start()
        quiet.stop()
        quiet.start()
        client.experiment("away").cancel()
        waiting.join(timeout=120)
        assert ended == ["cancelled"]


def test_says_why_an_experiment_did_not_complete(quiet: Service) -> None:
    with locus.connect(quiet.address) as client:
        experiment = client.submit(SMALL, changes={"name": "given-up"})
        with pytest.raises(TimeoutError, match="given-up is active") as over:
            experiment.wait(timeout=0.2)
        assert isinstance(over.value, locus.TimedOut) and isinstance(over.value, locus.LocusError)
        assert experiment.pause().state == "paused"
        assert experiment.resume().state == "active"
        experiment.cancel()
        with pytest.raises(locus.ExperimentFailed, match="given-up cancelled with 0 of 4 trials") as caught:
            experiment.wait(timeout=60)
        assert caught.value.experiment is experiment


def test_raises_what_the_server_says_with_reason_and_field(quiet: Service) -> None:
    with locus.connect(quiet.address) as client:
        with pytest.raises(locus.InvalidArgument, match="did you mean 'guidance'") as bad:
            client.plan(SMALL, changes={"name": "x", "matrix.prior": ["none", "guidence"]})
        assert bad.value.reason == "UNKNOWN_PRIOR"
        assert bad.value.field == "matrix.prior[1]"
        assert bad.value.code == "INVALID_ARGUMENT"
        assert "(at matrix.prior[1])" in str(bad.value)

        with pytest.raises(locus.InvalidArgument) as several:
            client.plan(SMALL, changes={"name": "x", "model.dims": 64, "matrix.prior": ["none", "guidence"]})
        assert [one.field for one in several.value.violations] == ["matrix.prior[1]", "model.dims"]
        assert {one.reason for one in several.value.violations} == {"UNKNOWN_PRIOR", "UNKNOWN_KEY"}
        assert str(several.value).startswith("2 mistakes\n  matrix.prior[1]: there is no prior 'guidence'")

        with pytest.raises(locus.NotFound, match="nothing") as missing:
            client.experiment("nothing")
        assert missing.value.reason == "EXPERIMENT_NOT_FOUND"

        client.submit(SMALL, changes={"name": "taken"})
        with pytest.raises(locus.AlreadyExists) as taken:
            client.submit(SMALL, changes={"name": "taken", "replicates.seed": [0]})
        assert taken.value.reason == "EXPERIMENT_EXISTS"
        replaced = client.submit(SMALL, changes={"name": "taken", "replicates.seed": [0]}, replace=True)
        assert replaced.message.trials == 2
        assert [one.name for one in client.experiments()] == ["taken"]


def test_names_the_server_it_cannot_reach_and_how_to_start_one() -> None:
    # Port 1 of loopback: nobody listens there, and nobody but root could.
    with locus.connect("127.0.0.1:1", patience=0) as client:
        with pytest.raises(locus.Unavailable, match="locus serve") as away:
            client.server()
    assert away.value.reason == "SERVER_UNAVAILABLE"
    for address in ("nonsense", "host:", ":1", "host:70000", "a b:1"):
        with pytest.raises(locus.InvalidArgument, match="HOST:PORT"):
            locus.connect(address)


def test_finds_the_server_where_the_command_line_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locus.connect().address == "127.0.0.1:7171"
    folder = tmp_path / "config" / "locus"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("# mine\nowner: me\nserver: 'gpu:7300'  # the tunnel\n")
    assert locus.connect().address == "gpu:7300"
    monkeypatch.setenv("LOCUS_SERVER", "other:7301")
    assert locus.connect().address == "other:7301"
    assert locus.connect("mine:7302").address == "mine:7302"


def test_reads_specifications_as_the_command_line_does(quiet: Service, tmp_path: Path) -> None:
    text = (
        "version: 1\nname: forms\ndataset: fashion-mnist\nmodel: {backbone: vit, patch: 7}\ntrain: {lr: 1e-3, epochs: 0x2, weight_decay: .05}\n"
        "description: no\nmatrix:\n  prior: [none, learned-absolute]\n"
    )
    file = tmp_path / "forms.yaml"
    file.write_text(text)
    run_locus("submit", str(file), "--server", quiet.address)
    with locus.connect(quiet.address) as client:
        stored = client.experiment("forms").specification
        assert stored["description"] == "no" and stored["train"]["lr"] == 1e-3 and stored["train"]["epochs"] == 2
        for form in (file, str(file), text, stored, json.dumps(stored)):
            assert client.submit(form).specification == stored
        example = ROOT / "examples" / "fashion-mnist-priors.yaml"
        assert client.plan(example).trials == 30
        for bad, says in (
            (str(tmp_path / "none.yaml"), "check the path"),
            ("- 1\n- 2\n", "mapping"),
            ("a: [\n", "not readable"),
            ("name: a\nname: b\n", "given twice"),
        ):
            with pytest.raises(locus.InvalidArgument, match=says):
                client.plan(bad)
        with pytest.raises(locus.InvalidArgument, match="finite"):
            client.plan(stored, changes={"train.lr": math.nan})


def test_shows_progress_only_where_somebody_looks() -> None:
    message = experiment_service_pb2.Experiment(
        name="x",
        state="active",
        trials=4,
        trials_done=1,
        stages_total=8,
        stages={"succeeded": 2, "failed": 1},
        eta_seconds=65,
    )
    out = io.StringIO()
    Progress(None, out).show(message)
    assert out.getvalue() == ""
    bar = Progress(True, out)
    bar.show(message)
    bar.show(message)
    assert out.getvalue() == "x ██████░░░░░░░░░░░░░░░░░░ 1/4 trials, 1 failed, about 1 min 5 s left\n"


def test_asks_for_pandas_only_where_it_is_used(quiet: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with locus.connect(quiet.address) as client:
        board = client.submit(SMALL, changes={"name": "bare"}).leaderboard()
        assert [row.rank for row in board] == [None, None]
        with pytest.raises(ImportError, match="pip install pandas") as missing:
            board.to_pandas()
        assert isinstance(missing.value, locus.LocusError)


def test_reads_catalog_server_and_workers(client: locus.Client) -> None:
    catalog = client.catalog()
    violin = catalog.prior("violin")
    assert violin is catalog.priors["violin"] and violin.option("curves").type == "list"
    assert violin.option("curves").default == violin.document["options"][0]["default"]
    assert {"prior", "dataset", "backbone"} <= set(catalog.to_pandas()["kind"])
    with pytest.raises(locus.NotFound, match="did you mean 'violin'"):
        catalog.prior("violn")
    server = client.server()
    assert (server.protocol_version, server.state, server.grpc_address) == (3, "ok", client.address)
    worker = client.workers()[0]
    assert (worker.name, [slot.device for slot in worker.slots]) == ("pytest", ["cpu", "cpu"])
    assert worker.seen_time is not None and worker.seen_time.tzinfo is not None
