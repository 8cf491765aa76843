"""The documentation keeps its form: bounded lengths, no dead links, and no performance figures in the design pages."""

import re
from pathlib import Path

import pytest

from lab.registry import read

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OTHERS = ("*.md", "src/README.md", "packaging/*/README.md", "tests/model/README.md")
PAGES = sorted([*DOCS.rglob("*.md"), *(page for pattern in OTHERS for page in ROOT.glob(pattern))])
README_MOST = 900  # words
MULTIPLE = re.compile(r"[0-9.]x\b")
WALK_MOST = 1500  # words of the page that follows a malloc and a free
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))
SOURCES = sorted(path for folder in ("src", "include", "classic") for path in (ROOT / folder).rglob("*.[ch]"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def words(text: str) -> list[str]:
    return text.split()


def prose(text: str) -> str:
    """The text without code."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1.*?$", "", text, flags=re.M | re.S)
    return re.sub(r"(`+).*?\1", "", re.sub(r"(?<=\n\n)(?: {4}.*\n)+", "", text))


def anchors(text: str) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.*?) *$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S), re.M):
        shown = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return found.keys() | {f"{anchor}-{n}" for anchor, count in found.items() for n in range(1, count + 1)}


def links(text: str) -> list[str]:
    """The links to files of the project, or to a heading."""
    found = re.findall(r"\]\(([^()\s]+)(?: \"[^\"]*\")?\)", prose(text)) + re.findall(r"^\[[^\]]+\]: +(\S+)", prose(text), re.M)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def dead(page: Path, text: str) -> list[str]:
    found = []
    for link in links(text):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        nowhere = not target.is_relative_to(ROOT) or (file and not target.exists())
        if nowhere or (anchor and target.suffix == ".md" and anchor not in anchors(
                text if target == page else target.read_text())):
            found.append(link)
    return found


def options(definitions: str) -> list[tuple[str, ...]]:
    row = r'^HZ3_OPTION\((\w+), +\w+, +(LIVE|START), +"(.*?)", +"(.*?)", +"(.*)"\)$'
    said = {"LIVE": "yes", "START": "no"}
    return [(name, usual, small, said[change], what) for name, change, usual, small, what in re.findall(row, definitions, re.M)]


def test_the_readme_is_short():
    assert len(words((ROOT / "README.md").read_text())) <= README_MOST


def test_the_readme_says_how_to_preload_within_a_hundred_words():
    before, preload, _ = (ROOT / "README.md").read_text().partition("LD_PRELOAD=")
    assert preload and len(words(before)) < 100


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    assert not dead(page, page.read_text())


def test_a_dead_link_is_found_and_a_live_one_is_not():
    page = DOCS / "x.md"
    text = "# A `b` c\n\n## A\n\n## A\n\n```\n# no heading\n[no link](none)\n```\n`[nor](this)`\n"
    assert anchors(text) == {"a-b-c", "a", "a-1"}
    live = "[1](#a-1) [2](../README.md) [3](https://example.org/x) [4](testing.md#models) ![5](results/)"
    assert dead(page, f"{text}{live}\n") == []
    for link in ("#a-2", "#no-heading", "none.md", "testing.md#none", "../../elsewhere"):
        assert dead(page, f"{text}{live} [6]({link})\n") == [link]


@pytest.mark.parametrize("page", sorted((DOCS / "design").glob("*.md")), ids=name)
def test_the_design_has_no_multiples(page):
    said = [line for line in page.read_text().splitlines() if MULTIPLE.search(line)]
    assert not said, "how much is for docs/results, why not is for docs/decisions"


def test_what_a_multiple_is():
    assert all(MULTIPLE.search(text) for text in ("1.23x", "2x as fast", "(0.5x)"))
    assert not any(MULTIPLE.search(text) for text in ("0x10", "x86-64", "64 KiB", "2 times"))


def status(text: str) -> str:
    """A decision's status as the list of decisions has it: `stands`, or who changed it or did away with it."""
    said = (text + "\n\n").split("\n\n")[1]
    found = re.match(r"\*\*Status\.\*\* (Stands\.|Changed by (?=\[)|Gone: (?=\[))", said)
    if not found or found[1] == "Stands.":
        return "stands" if found else ""
    return found[1].lower() + ", ".join(re.findall(r"\[\d{4}\]\(\S+?\)", said))


def test_the_walk_through_hz3_is_short():
    assert len(words((DOCS / "design/README.md").read_text())) <= WALK_MOST


@pytest.mark.parametrize("page", sorted((DOCS / "design").glob("*.md")), ids=name)
def test_the_design_names_functions_that_there_are(page):
    code = set(re.findall(r"\bhz3_\w+", "\n".join(path.read_text() for path in SOURCES)))
    assert not set(re.findall(r"\bhz3_\w+", page.read_text())) - code


def test_the_picture_of_a_span_has_every_state():
    """The states of lane secure alone are on its own page."""
    states = set(re.findall(r"^    (HZ3_SPAN_\w+)", (ROOT / "src/back/span.h").read_text(), re.M)) - {"HZ3_SPAN_NONE"}
    told = set(re.findall(r"HZ3_SPAN_\w+", (DOCS / "design/README.md").read_text()))
    assert len(states) > 5 and states - told == {"HZ3_SPAN_GUARD", "HZ3_SPAN_WAITING"} and told <= states


def test_the_status_of_a_decision():
    page = "# 0007: A\n\n**Status.** {}\n\n**Question.** Why?\n"
    assert status(page.format("Stands.")) == status(page.format("Stands. [0001](0001-a.md) made\nit smaller.")) == "stands"
    assert status(page.format("Changed by [0001](0001-a.md) and\n[0002](b.md): c.")) == (
        "changed by [0001](0001-a.md), [0002](b.md)")
    assert status(page.format("Gone: [0001](0001-a.md) asks d.")) == "gone: [0001](0001-a.md)"
    assert not any(map(status, (page.format("Changed by chance."), page.format("Perhaps."), "# 0007: A\n\n**Question.**\n")))


def test_the_list_of_decisions_has_each_with_its_status():
    rows = re.findall(r"^\| (\[\d{4}\]\(\S+\)) \| (.+) \| (.+) \|$", (DOCS / "decisions/README.md").read_text(), re.M)
    pages = [(page.name, page.read_text()) for page in DECISIONS]
    assert len(pages) > 50 and all(status(text) for _, text in pages)
    assert rows[: len(pages)] == [
        (f"[{file[:4]}]({file})", text.split("\n", 1)[0].partition(": ")[2], status(text)) for file, text in pages]


def test_decisions_that_are_named_exist():
    numbers = {page.name[:4] for page in DECISIONS}
    named = {number for page in DECISIONS for number in re.findall(r"(?<![\d.,])0\d{3}\b", page.read_text())}
    code = "\n".join(path.read_text() for path in [*SOURCES, *ROOT.glob("*/flags.def"), ROOT / "src/base/flags.def"])
    named |= set(re.findall(r"decisions/(0\d{3})", code))
    assert len(named) > 50 and named <= numbers


def test_the_page_of_options_has_every_option():
    rows = options((ROOT / "src/api/options.def").read_text())
    table = re.findall(r"^\| `HZ3_(\w+)` \| (.+?) \| (.+?) \| (.+?) \| (.+) \|$", (DOCS / "use/options.md").read_text(), re.M)
    assert len(rows) > 10 and table == rows


def test_every_page_is_reached_from_the_readme():
    seen, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        ahead += [(page.parent / link.partition("#")[0]).resolve() for link in links(page.read_text()) if link[0] != "#"]
    assert not [name(page) for page in DOCS.rglob("*.md") if page not in seen]


def test_the_table_of_work_orders_has_every_flag_that_is_named_after_one():
    flags = {flag for flag in read().flags if re.match(r"HZ3_S\d", flag)}
    table = (DOCS / "work-orders.md").read_text().partition("## Their commands")[0]
    rows = re.findall(r"^\| S\d.*\|$", table, re.M)
    assert len(flags) > 20 and flags <= set(re.findall(r"`(HZ3_S\d\w+)`", "\n".join(rows)))
    assert all(row.count(" | ") == 6 for row in rows)
    files = [file for row in rows for file in re.findall(r"`(.+?)`", row.split(" | ")[3])]
    assert len(files) >= len(rows) and all((ROOT / file).is_file() for file in files)
