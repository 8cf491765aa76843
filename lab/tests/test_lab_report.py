"""The report shows what was measured, needs nothing from elsewhere, and a browser can read it."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from synthetic import experiment, peers, samples

from lab import LabError, comparison, readme, report, versus


@pytest.fixture(scope="module")
def page():
    runs = [peers(), samples(experiment([{"at_least": 0.0}], cases=2), 1, [20, 0])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "newest", lambda folder: runs)
        return report.report(None)


def test_every_kind_of_picture_is_there_and_well_formed(page):
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    titles = [ElementTree.fromstring(p).findtext("{http://www.w3.org/2000/svg}title") for p in pictures]
    assert titles == ["ops/s of bench_mt", "Speed against memory", "Scaling over threads", "RSS over time",
                      "How long single calls take", "synthetic, variant"]  # fmt: skip
    for picture, words in zip(pictures[:2], ("mt 2", "mt 8"), strict=True):
        assert words in picture


def test_nothing_is_left_out(page):
    for words in (
        "scale",
        "glibc",
        "2.36",
        "jemalloc",
        "snmalloc",
        "no compiler",
        "A CPU",
        "6 blocks",
        "&lt;timed&gt;",
    ):
        assert words in page
    assert "<timed>" not in page


def test_nothing_comes_from_elsewhere(page):
    page = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    page = re.sub(r"<metadata>.*?</metadata>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!#)|url\((?!#)|@import|<script|https?://", page)


def test_the_summary_compares_with_the_fastest_peer():
    run = comparison.Comparison(peers())
    speed = run.figures("mt 2", "ops_per_s")
    assert list(speed) == ["scale", "glibc", "jemalloc", "limit"]
    low, high = speed["jemalloc"].low, speed["jemalloc"].high
    assert low <= speed["jemalloc"].median <= high and 7.6e7 < low and high < 8.4e7
    ratio = versus.compare(run.run, "mt 2", "ops_per_s", "jemalloc")["scale"].ratio
    assert ratio[0] == pytest.approx(0.5, rel=0.03)  # 2 to 4, by construction
    (row,) = (row for row in comparison.summary(run).rows if row[0] == "mt 2")
    assert row[1] == "jemalloc" and re.match(r"0\.(49|50|51)x \[", row[3])


def test_the_readme_gets_a_table_and_two_pictures(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    file = tmp_path / "README.md"
    with monkeypatch.context() as patch:
        patch.setattr(readme, "newest", lambda folder: [peers()])
        file.write_text("no place\n")
        with pytest.raises(LabError, match="no place"):
            readme.write(tmp_path, tmp_path)
        file.write_text(f"before\n{readme.BEGIN}old\n{readme.END}after\n")
        readme.write(tmp_path, tmp_path)
        once = file.read_text()
        readme.write(tmp_path, tmp_path)
    assert file.read_text() == once  # and everything before and after stays
    assert once.startswith("before\n") and once.endswith("after\n") and "old" not in once
    # the speeds are 2, 3 and 4; glibc, at 1.5 times ours, may or may not be of like speed
    row = next(line for line in once.splitlines() if line.startswith("| bench_mt"))
    assert re.match(r"\| bench_mt \| 2 \| 0\.(49|50|51)x \| 0\.(49|50|51)x \| (-|0\.50x) \|", row)
    for name in ("speed", "memory"):
        ElementTree.parse(tmp_path / f"docs/{name}.svg")


def test_without_samples_there_is_no_report(tmp_path):
    with pytest.raises(LabError, match="nothing to report"):
        report.report(tmp_path)


def test_a_browser_reads_it(page, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    if not browser:
        pytest.skip("no chromium-headless-shell")
    # the page counts what was drawn, as the browser sees it
    probe = ("<script>document.title = [...document.querySelectorAll('svg')].filter("
             "svg => svg.getBoundingClientRect().height > 50).length + ' pictures, ' + performance"
             ".getEntriesByType('resource').length + ' fetched'</script></body>")  # fmt: skip
    file = tmp_path / "report.html"
    file.write_text(page.replace("</body>", probe))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    done = subprocess.run([browser, *options, file.as_uri()], capture_output=True, text=True, timeout=60)
    assert "<title>6 pictures, 0 fetched</title>" in done.stdout, done.stderr
