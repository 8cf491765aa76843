"""Makes docs/results/peers.md: the newest comparisons with the peers, for readers without the HTML report."""

from lab.ahead import Reason
from lab.comparison import Comparison, measured, tables, title
from lab.handovers import kept

HEAD = """# Against the peers (made by `hz3 report --readme`, not to be edited by hand)

The newest run of each list of cells on machines of each size, and with huge pages made always or not. The reasons are
from [experiments/peers.toml](../../experiments/peers.toml). [lab.md](../lab.md#the-lab) explains the measurement and
[each figure](../lab.md#the-programs).
"""
ESCAPES = str.maketrans({"|": "\\|", "<": "&lt;", "\n": "<br>"})


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [[cell.translate(ESCAPES) for cell in line] for line in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def points(said: list[str]) -> str:
    return "".join(f"- {words}\n" for words in said)


def page(comparisons: list[Comparison], known: list[Reason]) -> str:
    parts = [HEAD]
    for c in comparisons:
        counts = f"Lanes: {len(c.lanes)}; peers: {len(c.peers)}; cells: {len(c.cells) + len(c.timed)}"
        parts.append(f"## {title(c.run)}\n\n{counts}; {measured(c)}.\n")
        for made in tables(c, known, kept(c.run.plan)):
            parts += [f"### {made.title}\n", *([f"{made.note}\n"] if made.note else []), markdown(made.head, made.rows)]
    return "\n".join(parts)
