"""Each command that a page says to type is one: the verb, the options and the arguments are what its parser takes, a
target is one of the Makefile, and a variable of hz3's is an option or a flag."""

import io
import re
import shlex
import subprocess
from contextlib import redirect_stderr
from pathlib import Path

import click
import pytest

from lab import ROOT, cli, registry
from look.cli import parser

PAGES = sorted(page for pattern in ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/use/*.md", "docs/design/*.md",
                                    "docs/results/README.md", "packaging/*/README.md") for page in ROOT.glob(pattern))
OURS = r"(?:bin/|python -m )?hz3 (?=[a-z])"
IN_SHELL = ("run", "record", "flags", "options", "version", "help")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def said(text: str) -> list[tuple[str, bool]]:
    """The commands of hz3 on a page, and whether each is a line that stands alone: others may lack arguments."""
    whole = [re.split(r" {2,}", line)[0] for line in re.findall(rf"^ {{4}}{OURS}(.*)$", text, re.M)]
    return [(line, True) for line in whole] + [(span, False) for span in re.findall(rf"`{OURS}([^`]+)`", text)]


def words(line: str) -> list[str]:
    """As a shell would see them, up to its own operators.  What is in brackets is given, and numbers are for N and PID."""
    line = re.sub(r"\$\(.*?\)|\bPID(\.\.\.)?|\bN\b", "1", re.sub(r"[][]", "", line))
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found = list(lexer)
    return found[: next((i for i, word in enumerate(found) if set(word) <= set(lexer.punctuation_chars)), len(found))]


def complaint(verb: str, *rest: str, whole: bool = True) -> str:
    """What the verb says against these words, or nothing."""
    if verb in IN_SHELL:
        options = rest[: rest.index("--")] if "--" in rest else rest
        done = subprocess.run([ROOT / "bin/hz3", verb, *options, "--help"], capture_output=True, text=True)
        return done.stderr
    if not (ROOT / f"bin/hz3-{verb}").exists():
        return f"no verb '{verb}'"
    if command := cli.main.commands.get(verb):
        try:
            command.make_context(verb, list(rest), ignore_unknown_options=False)
        except click.ClickException as error:
            return "" if isinstance(error, click.MissingParameter) and not whole else error.format_message()
        return ""
    with redirect_stderr(io.StringIO()) as told:
        try:
            parser(verb).parse_args(rest)
        except SystemExit:
            lacks = "the following arguments are required" in told.getvalue()
            return "" if lacks and not whole else told.getvalue()
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_command_is_one_that_there_is(page):
    found = {line: complaint(*words(line), whole=whole) for line, whole in said(page.read_text())}
    assert {line: why for line, why in found.items() if why} == {}


def test_the_pages_have_commands_of_each_verb():
    verbs = {words(line)[0] for page in PAGES for line, _ in said(page.read_text())}
    assert verbs >= {path.name.removeprefix("hz3-") for path in (ROOT / "bin").glob("hz3-*")}
    assert verbs >= {"run", "record", "flags", "options", "version"}


@pytest.mark.parametrize("line", [
    "    bin/hz3 stats --xml 1", "    hz3 stats", "    bin/hz3 nothing", "    hz3 run --fast -- prog",
    "    hz3 compare --onl scale -- prog", "    hz3 peers --blocks x", "    hz3 profile 1 --base a -o b", "`hz3 ps --all`",
    "`hz3 ledger --until never`",
])
def test_a_command_that_there_is_not_is_found(line):
    ((found, whole),) = said(line)
    assert complaint(*words(found), whole=whole)


@pytest.mark.parametrize("line, expected", [
    ("    bin/hz3 top $(pidof -s a b) --children >x && y   tells", ["top", "1", "--children"]),
    ("    hz3 run --stats -- prog 'a b' | less", ["run", "--stats", "--", "prog", "a b"]),
    ("`hz3 peers CELLS [--scale 0.1]`", ["peers", "CELLS", "--scale", "0.1"]),
])
def test_what_the_words_of_a_command_are(line, expected):
    assert [words(found) for found, _ in said(line)] == [expected]


def test_each_target_that_is_named_is_one_of_the_makefile():
    known = subprocess.run(["make", "-qpRr", "none"], cwd=ROOT, capture_output=True, text=True).stdout
    targets = set(re.search(r"^\.PHONY: (.*)$", known, re.M)[1].split())
    named = {target for page in PAGES for target in re.findall(r"(?:^    |`)make ([a-z][\w-]*)", page.read_text(), re.M)}
    assert len(named) > 20 and {target.replace("LANE", "scale") for target in named} <= targets


def test_each_variable_that_is_named_is_an_option_or_a_flag():
    options = re.findall(r"^HZ3_OPTION\((\w+)", (ROOT / "src/api/options.def").read_text(), re.M)
    cmake = re.findall(r"\b(HZ3_\w+)", (ROOT / "CMakeLists.txt").read_text() + (ROOT / "Makefile").read_text())
    known = {f"HZ3_{option}" for option in options} | set(registry.read().flags) | set(cmake)
    named = {word for page in (ROOT / "docs/use").glob("*.md") for word in re.findall(r"\bHZ3_\w+", page.read_text())}
    assert len(named) > 15 and named - known == set()


def test_each_value_that_is_given_to_an_option_is_one_that_it_takes(preload, tmp_path):
    given = {word for page in PAGES for word in re.findall(r"\b(HZ3_\w+=[\w%]+(?:\.[\w%]+)*)", page.read_text())}
    options = set(re.findall(r"^HZ3_OPTION\((\w+)", (ROOT / "src/api/options.def").read_text(), re.M))
    of_options = sorted(each for each in given if each[4:].partition("=")[0] in options and not each.endswith("=FILE"))
    assert len(of_options) > 20
    for option in of_options:
        done = subprocess.run(["env", option, "/bin/true"], env=preload.env, cwd=tmp_path, capture_output=True, text=True)
        assert "warning" not in done.stderr
