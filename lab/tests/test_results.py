"""What is kept of runs: compressed samples, the index, and the summary from which the documentation is made."""

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from synthetic import experiment as table_of
from synthetic import peers, samples, written

from lab import ROOT, LabError, archive, cli, judge, ledger, machine, pack, page, readme, results, show, summary
from lab.comparison import Comparison
from lab.experiment import from_table
from lab.judge import log_ratio, percent
from lab.results import Results
from lab.samples import Samples, contents, newest_path, runs, text_in

KEPT = [path for path in results.files(results.FOLDER) if path.suffix == archive.SUFFIX]  # complete runs
GATES = [{"at_least": 0.0}, {"figure": "peak_kib", "at_least": -10.0}, {"wins": 1}]


@pytest.fixture
def file(tmp_path):
    return written(samples(table_of(GATES), 1, [20]), tmp_path / "results/x/20260101T000000Z.jsonl")


def test_a_compressed_file_is_read_as_what_it_was(file):
    before, text = Samples.load(file), file.read_text()
    compressed = archive.compress(file)
    assert compressed.name == "20260101T000000Z.jsonl.zst" and compressed.stat().st_size < len(text) / 4
    assert Samples.load(compressed).attempts == before.attempts and text_in(compressed) == text
    assert list(file.parent.iterdir()) == [compressed]


def test_of_a_run_whose_compressing_was_interrupted_there_is_one_file(file):
    text = file.read_text()
    compressed = archive.compress(file)
    file.write_text(text)  # as if it was not removed yet
    assert runs(file.parent) == [compressed]
    (file.parent / "20260101T000000Z.part").write_text("cut off")
    newer = file.with_name("20260102T000000Z.jsonl")
    newer.write_text(text)
    assert runs(file.parent) == [compressed, newer] and newest_path(file.parent) == newer


@pytest.mark.parametrize("line", ["{", '{"kind": "sample"}', "[]", "null", '{"kind": "sample", "phase": {}}'])
def test_a_damaged_line_is_named(file, line):
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:16], line, *lines[16:]]) + "\n")
    for way in (lambda path: path, archive.compress):
        path = way(file)
        with pytest.raises(LabError, match=f"{path.name} is not a file of samples: line 17: "):
            Samples.load(path)


@pytest.mark.parametrize(
    "harm", [lambda data: data[:-20], lambda data: data[:5000] + b"x" + data[5001:], lambda data: b""]
)
def test_of_damaged_compressed_samples_the_last_line_that_can_be_read_is_named(tmp_path, harm):
    path = written(samples(table_of(GATES), 1, [20], blocks=200), tmp_path / "x/1.jsonl")
    count = path.read_text().count("\n")
    compressed = archive.compress(path)
    compressed.write_bytes(harm(compressed.read_bytes()))
    with pytest.raises(LabError, match=r"1.jsonl.zst is damaged after line \d+: ") as caught:
        Samples.load(compressed)
    assert int(str(caught.value).partition("line ")[2].partition(":")[0]) <= count


def test_of_a_run_that_goes_on_and_its_compressed_file_the_longer_stays(file):
    compressed = archive.compress(file)
    old = compressed.read_bytes()
    assert archive.expand(compressed) == file
    short = file.read_bytes()
    for there, chosen in ((short + b'{"kind": "more", "ce', file), (short, compressed), (short[:-9], compressed)):
        file.write_bytes(there)
        compressed.write_bytes(old)
        assert runs(file.parent) == [chosen] and newest_path(file.parent) == chosen
        assert archive.expand(compressed) == file and not compressed.exists()
        assert file.read_bytes() == max(there, short, key=len)
    file.write_bytes(b"{" + short[:-2])
    compressed.write_bytes(old)
    with pytest.raises(LabError, match="have other samples: remove one"):
        archive.expand(compressed)
    assert compressed.exists() and file.read_bytes() == b"{" + short[:-2]


def test_of_several_files_one_that_is_damaged_leaves_the_others_readable(file, tmp_path, monkeypatch):
    other = written(samples(table_of(GATES), 2, [0]), tmp_path / "results/y/20260101T000000Z.jsonl")
    known = results.renew(tmp_path / "results", pytest.fail)
    whole = summary.judged_to_json(known.experiments["x"][0])
    file.write_text(file.read_text().replace('"arm": "variant"', "", 1))
    said = []
    known = results.renew(tmp_path / "results", said.append)
    assert [run.path.parent.name for of in known.experiments.values() for run in of] == ["x", "y"]
    assert summary.judged_to_json(known.experiments["x"][0]) == whole  # kept as it was
    assert len(said) == 1 and f"{file} is not a file of samples: line " in said[0]
    assert [run.path for run in results.readable(results.files(tmp_path / "results"), said.append)] == [other]


def test_a_run_that_is_kept_is_in_the_index_and_the_summary_and_a_newer_one_shortens_it(tmp_path):
    table = table_of(GATES)
    for day, seed in ((1, 1), (2, 2)):
        run = Samples.load(written(samples(table, seed, [20]), tmp_path / f"x/2026010{day}T000000Z.jsonl"))
        digest = hashlib.sha256(run.path.read_bytes()).hexdigest()
        results.keep(run, tmp_path)
        known = Results.read(tmp_path)
        line = known.index[f"x/2026010{day}T000000Z"]
        assert (line["of"], line["date"], line["sha256"]) == ("synthetic", f"2026-01-0{day}", digest)
        assert line["machine"] == run.machine and hashlib.sha256(contents(run.path)).hexdigest() == digest
    assert [run.is_brief for run in known.experiments["x"]] == [True, False]
    assert [verdict.word for run in known.experiments["x"] for verdict in run.verdicts] == ["GO", "GO"]


def test_of_a_run_that_becomes_void_nothing_stays_published(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "PUBLISHED", {"scale"})
    for name, run in (("x", samples(table_of(GATES), 1, [20])), ("peers-x", peers())):
        run = Samples.load(written(run, tmp_path / name / "20260101T000000Z.jsonl"))
        results.keep(run, tmp_path)
        run.path = archive.expand(run.path)
        run.declare_void("another library served")
        known = Results.read(tmp_path)
        assert known.experiments["x"] or known.comparisons
        results.keep(run, tmp_path)
        known = Results.read(tmp_path)
        assert not known.experiments["x"] and not known.comparisons and "void" in known.index[results.run_of(run.path)]


def test_what_is_read_is_written_again_as_it_was(tmp_path):
    for name, run in (("x", samples(table_of(GATES), 1, [20])), ("peers-x", peers())):
        results.keep(Samples.load(written(run, tmp_path / name / "20260101T000000Z.jsonl")), tmp_path)
    before = {file.name: file.read_text() for file in tmp_path.glob("*.json")}
    Results.read(tmp_path).write()
    assert {file.name: file.read_text() for file in tmp_path.glob("*.json")} == before
    assert len(before) == 2


@pytest.mark.parametrize("more", [{}, {"noise": 0.3}, {"noise": 0.0, "mood": 0.0}, {"heavy": True}, {"aa_blocks": 2}])
@pytest.mark.parametrize("gain", [[0, 0], [20, -50], [-0.04, 0.04], [1542.8, -99.9]])
def test_of_an_experiment_the_ledger_says_the_same_by_the_summary_as_by_the_samples(more, gain):
    for seed in range(10):
        table = table_of(GATES, cases=2)
        run = samples(table, seed, gain, **more)
        run.blocks("case 1", "ab")[0]["variant"] |= {"overflow": "above_0.1%"}
        for figures in (figures for block in run.blocks("case 0", "ab") for figures in block.values()):
            figures["seconds"] = 0.1 + seed / 100
        found, asked = summary.judged(run), from_table(table)
        text = json.dumps(summary.judged_to_json(found))
        kept = summary.judged_from_json(run.path, run.machine, json.loads(text))
        assert ledger.result(kept, asked) == ledger.result(found, asked)
        assert kept.key == found.key and not kept.is_brief
        again = summary.judged_from_json(run.path, run.machine, summary.judged_to_json(found.brief()))
        assert again == found.brief() and again.is_brief


def test_of_a_comparison_the_page_and_the_readme_say_the_same_by_the_summary_as_by_the_samples():
    run = peers(untouched="mt 8")
    run.unable["mt 2", "glibc"] = "it broke"
    run.unable |= {("idle", arm): "it broke" for arm in run.plan.arms}
    run.blocks("mt 8", "ab")[0]["glibc"]["overflow"] = "above_0.1%"
    for figures in (figures for block in run.blocks("mt 8", "ab") for figures in block.values()):
        figures["seconds"] = 0.15
    kept = summary.comparison_from_json(run.path, run.machine, json.loads(json.dumps(summary.comparison_to_json(run))))
    (one, other) = ([Comparison(found)] for found in (run, kept))
    assert page.page(other, []) == page.page(one, [])
    assert readme.against_peers(other) == readme.against_peers(one)
    assert readme.section(other, readme.against_peers(other)) == readme.section(one, readme.against_peers(one))


@pytest.mark.parametrize("said", [summary._printed, summary._printed_both_ways, show.spread_said])
def test_a_number_that_was_shortened_prints_the_same_and_is_not_shortened_again(said):
    chance = np.random.default_rng(1)
    for value in (16.0751, *np.expm1(chance.normal(0, 0.3, 3000)) * 100, *1.5 + chance.exponential(1, 1000)):
        short = summary.shortest(float(value), said)
        assert said(short) == said(value)
        assert summary.shortest(percent(log_ratio(short)), said) == short


@pytest.mark.parametrize("name, old, new, complaint", [
    (results.INDEX, ":", "", "index.json is damaged: .*line 2 "),
    (results.SUMMARY, '"verdicts"', "verdicts", "summary.json is damaged: .*line 14 "),
    (results.SUMMARY, '"word"', '"words"', "summary.json is damaged: x/20260101T000000Z: KeyError"),
])  # fmt: skip
def test_a_damaged_index_or_summary_is_named_with_its_place(file, tmp_path, name, old, new, complaint):
    results.keep(Samples.load(file), tmp_path / "results")
    place = tmp_path / "results" / name
    assert old in place.read_text()
    place.write_text(place.read_text().replace(old, new, 1))
    with pytest.raises(LabError, match=complaint):
        Results.read(tmp_path / "results")


@pytest.mark.parametrize("name", [results.INDEX, results.SUMMARY])
@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"runs": [3], "experiments": []}', '{"experiments": {}}'])
def test_an_index_or_summary_of_another_form_is_named(file, tmp_path, name, text):
    results.keep(Samples.load(file), tmp_path / "results")
    (tmp_path / "results" / name).write_text(text)
    with pytest.raises(LabError, match=f"{name} is damaged: [A-Z]"):
        Results.read(tmp_path / "results")


def test_what_is_merged_again_is_compared_with_what_was_compressed(tmp_path):
    folder, ours = tmp_path / "packed", tmp_path / "results"
    file = written(samples(table_of(GATES), 1, [20]), folder / "results/x/20260101T000000Z.jsonl")
    whole = file.read_text()
    for _ in range(2):
        (merged,) = pack.merge(folder, ours)
        results.keep(Samples.load(merged), ours)
        assert [text_in(path) for path in runs(ours / "x")] == [whole]
    file.unlink()
    written(samples(table_of(GATES), 2, [20]), file)
    with pytest.raises(LabError, match="20260101T000000Z.jsonl.zst is there already, with other samples"):
        pack.merge(folder, ours)


def test_what_another_machine_measured_twice_is_one_run_that_pays_for_two_looks(tmp_path):
    folder, ours = tmp_path / "packed", tmp_path / "results"
    table, lines = table_of(GATES), {}
    for day, blocks in ((1, 20), (2, 12)):
        packed = written(samples(table, day, [20], blocks=blocks), folder / f"results/x/2026010{day}T000000Z.jsonl")
        plan, *lines[day] = map(json.loads, packed.read_text().splitlines())
        for n, line in enumerate(lines[day]):
            spoilt_ = (line["phase"], line["block"]) == ("ab", 2)
            line |= {"at": f"2026-01-0{day}T{n}", "took": n / 8, "position": n % 3, "stolen": 0.5 if spoilt_ else 0.01}
            line |= {"load": day / 2, "line_ns": [50.0, 55.0]}
        lines[day] += [{**line, "attempt": 1, "stolen": 0.0} for line in lines[day] if line["stolen"] == 0.5]
        packed.write_text("".join(json.dumps(line) + "\n" for line in (plan, *lines[day])))
        for file in pack.merge(folder, ours):
            results.keep(pack.pooled(file), ours)
    (path,) = runs(ours / "x")
    run = Samples.load(path)
    assert path.name.startswith("20260101") and run.absorbed == {"20260102T000000Z"}
    assert run.looks("case 0") == 2 and len(run.blocks("case 0", "ab")) == 32 and len(run.blocks("case 0", "aa")) == 6
    second = Samples.load(folder / "results/x/20260102T000000Z.jsonl")
    assert run.blocks("case 0", "ab")[20:] == second.blocks("case 0", "ab")
    shift = {"warmup": 1, "aa": 6, "ab": 20}
    moved = [{**line, "block": line["block"] + shift[line["phase"]]} for line in lines[2]]
    kept = [line for line in map(json.loads, text_in(path).splitlines()) if line["kind"] == "sample"]
    assert kept == [*lines[1], *moved]
    assert run.seconds == sum(line["took"] for of in lines.values() for line in of)
    assert {(round_.block, attempt) for round_, attempt in run.spoilt} == {(2, 0), (22, 0)}
    assert list(Results.read(ours).index) == ["x/20260101T000000Z"]
    (folder / "results/x/20260101T000000Z.jsonl").unlink()
    assert pack.merge(folder, ours) == [], "merged before"


def test_a_damaged_or_empty_file_here_does_not_stop_a_merge(tmp_path):
    folder, ours = tmp_path / "packed", tmp_path / "results"
    written(samples(table_of(GATES), 1, [20]), folder / "results/x/20260103T000000Z.jsonl")
    (ours / "x").mkdir(parents=True)
    (ours / "x/20260101T000000Z.jsonl").touch()
    (ours / "x/20260102T000000Z.jsonl").write_text("{\n")
    (merged,) = pack.merge(folder, ours)
    assert merged == ours / "x/20260103T000000Z.jsonl" and Samples.load(merged).blocks("case 0", "ab")


def spoilt(file, gone=lambda line: True):
    """Writes the file again, as if the host had spoilt every attempt at the blocks that are `gone`."""
    whole = [json.loads(line) for line in file.read_text().splitlines()]
    more = [[{**line, "attempt": n, "stolen": 1.0} for n in range(3)] if line.get("phase") == "ab" and gone(line) else [line]
            for line in whole]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for lines in more for line in lines))
    return file


def test_a_run_without_a_sound_block_of_a_cell_is_left_out_and_the_others_are_judged(file, tmp_path):
    written(samples(table_of(GATES), 2, [0]), tmp_path / "results/y/20260101T000000Z.jsonl")
    spoilt(file)
    said = []
    known = results.renew(tmp_path / "results", said.append)
    assert len(said) == 1 and "left out: " in said[0] and "no block is sound of case 0: no verdict" in said[0]
    assert [name for name, runs_of in known.experiments.items() if runs_of] == ["y"]


@pytest.mark.parametrize("seed", range(5))
def test_the_blocks_that_a_case_lost_are_not_forgotten(tmp_path, seed):
    """What is kept is written again as it was read: a case with 3 blocks of 10 may need fewer than 10."""
    run = samples(table_of(GATES), seed, [1], blocks=10)
    file = spoilt(written(run, tmp_path / "results/x/20260101T000000Z.jsonl"), lambda line: line["block"] > 2)
    results.keep(Samples.load(file), tmp_path / "results")
    first = (tmp_path / "results/summary.json").read_text()
    Results.read(tmp_path / "results").write()
    assert (tmp_path / "results/summary.json").read_text() == first


def test_what_is_merged_without_a_sound_block_of_a_cell_decides_nothing_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "RESULTS", tmp_path / "results")
    run = samples(table_of(GATES, cases=2), 1, [20, 0], blocks=2)
    file = written(run, tmp_path / "packed/results/x/20260101T000000Z.jsonl")
    spoilt(file, lambda line: line["cell"] == "case 1")
    for _ in range(2):  # a folder may be merged again when more of its runs are back
        merged = CliRunner().invoke(cli.main, ["merge", str(tmp_path / "packed")], catch_exceptions=False)
        assert merged.exit_code == 0
    ((_, line),) = Results.read(tmp_path / "results").index.items()
    assert "the host spoilt each block" in line["void"] and "case 1" in line["void"]
    assert results.renew(tmp_path / "results", pytest.fail).experiments == {}


def test_a_mean_takes_as_many_blocks_as_each_of_its_cases_has_left(tmp_path):
    run = samples(table_of([{"mean": 0.0}], cases=3), 1, [20, 20, 20], blocks=12)
    file = spoilt(written(run, tmp_path / "1.jsonl"), lambda line: line["block"] % 4 == int(line["cell"][-1]))
    run = Samples.load(file)
    (verdict,) = judge.judge(run)
    assert len(run.aligned(list(run.plan.cells), "ab")) == 9 and verdict.word == "GO"


@pytest.mark.parametrize("step", [(Samples, "add"), (Path, "unlink")])
def test_a_merge_that_is_interrupted_is_done_again_whole(tmp_path, monkeypatch, step):
    folder, ours = tmp_path / "packed", tmp_path / "results"
    first, second = (
        written(samples(table_of(GATES), day, [20]), folder / f"results/x/2026010{day}T000000Z.jsonl") for day in (1, 2)
    )
    results.keep(pack.pooled(pack.merge(folder, ours)[0]), ours)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        archive.expand(runs(ours / "x")[0])  # which unlinks, too
        patch.setattr(*step, interrupt)
        pack.pooled(ours / f"x/{second.name}")
    for file in pack.merge(folder, ours):
        results.keep(pack.pooled(file), ours)
    (path,) = runs(ours / "x")
    run = Samples.load(path)
    assert (
        path.suffix == archive.SUFFIX
        and path.name.startswith(first.stem)
        and run.absorbed == {second.stem}
        and run.looks("case 0") == 2
    )
    assert len(run.blocks("case 0", "ab")) == 40


# The project's own results.


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git checkout")
def test_the_tree_holds_one_run_of_each_list_and_pages_and_the_index_says_where_the_others_are():
    index = Results.read().index
    kept = set(map(results.run_of, KEPT))
    tracked = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    runs = [Path(path) for path in tracked if path.endswith((".jsonl", ".zst"))]
    names = [(run.parent.name, machine.always_huge(index[results.run_of(run)]["machine"])) for run in runs]
    assert len(names) == len(set(names)), "older runs go: their line in results/index.json says under history where to"
    assert kept | {run for run, line in index.items() if "history" in line} == index.keys()


@pytest.mark.parametrize("path", KEPT, ids=results.run_of)
def test_what_is_said_of_a_run_is_what_its_samples_say(path):
    known, run = Results.read(), Samples.load(path)
    line = known.index[results.run_of(path)]
    assert line["sha256"] == hashlib.sha256(contents(path)).hexdigest() and line["commit"] == run.plan.commit
    assert line["machine"] == run.machine and line["of"] == run.plan.name
    fresh = Results(index={}, folder=results.FOLDER)
    fresh.add(run)
    for found in fresh.experiments[path.parent.name]:
        (kept,) = (other for other in known.experiments[path.parent.name] if other.path == path)
        expected = found.brief() if kept.is_brief else found
        assert summary.judged_to_json(kept) == summary.judged_to_json(expected), "run: bin/hz3 ledger"
    for found in fresh.comparisons:
        (kept,) = (other for other in known.comparisons if other.path == path)
        assert summary.comparison_to_json(kept) == summary.comparison_to_json(found), "run: bin/hz3 ledger"


def test_the_documentation_is_what_the_summary_says(tmp_path):
    known = Results.read()
    assert (ROOT / "docs/results/verdicts.md").read_text() == ledger.ledger(ROOT / "experiments", known), (
        "run: bin/hz3 ledger"
    )
    (tmp_path / "docs/results").mkdir(parents=True)
    (tmp_path / "README.md").write_text((ROOT / "README.md").read_text())
    readme.write(known.comparisons, tmp_path)
    for made in ("README.md", "docs/results/peers.md", *(f"docs/results/{name}.svg" for name in ("speed", "memory"))):
        assert (tmp_path / made).read_text() == (ROOT / made).read_text(), "run: bin/hz3 report --readme"


def test_the_summary_is_small():
    assert (results.FOLDER / results.SUMMARY).stat().st_size <= 355_000


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git checkout")
def test_the_whole_checkout_is_small():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    assert len(files) > 100 and sum(file.lstat().st_size for file in files) <= 6_500_000
