"""hz3 flows as a page for a browser, made with Jinja2."""

import jinja2

from look.flows import HEADS, REST, Flow, advice, head, matrix, nothing, of
from look.profile import Profile
from look.stats import human

PAGE = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Who frees whose memory</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3em .6em; text-align: right; border-bottom: 1px solid #ddd }
.flows td:nth-child(-n + 2), .flows th:nth-child(-n + 2) { text-align: left }
.flows td:nth-child(n + 3):not(:last-child) { white-space: nowrap }
.heat td { border: 1px solid #fff; font-size: .8rem; min-width: 3.6rem; line-height: 1.2 }
.heat td { text-align: center; white-space: nowrap }
.heat small { display: block }
.heat th { font-weight: normal; overflow-wrap: anywhere; max-width: 9rem }
.heat .of { font-weight: bold; text-align: center; white-space: nowrap }
.heat .side { writing-mode: vertical-rl; transform: rotate(180deg); border: 0 }
.heat .from { white-space: nowrap; max-width: none }
.heat .own { outline: 2px solid #222; outline-offset: -2px }
</style>
<h1>Who frees whose memory</h1>
<p>{{ head }}</p>
{% if rows %}
<p>{{ advice }}</p>
<h2>From each thread to each</h2>
<p>The darker a cell, the more bytes went from the thread of its row to the thread of its column. A frame is around what
a thread freed of its own.</p>
<div class="scroll"><table class="heat">
<tr><td></td><td></td><th class="of" colspan="{{ names | length }}">freed by</th></tr>
<tr><td></td><td></td>{% for name in names %}<th>{{ name }}</th>{% endfor %}</tr>
{% for by in names %}
<tr>{% if loop.first %}<th class="of side" rowspan="{{ names | length }}">allocated by</th>{% endif %}
<th class="from">{{ by }}</th>
{%- for to in names %}
{% set size = cells.get((by, to), 0) %}
<td{% if by == to and by != rest %} class="own"{% endif %} style="{{ shade(size) }}">
{%- if size %}{{ human(size) }}<small>{{ share(size) }}</small>{% endif %}</td>
{%- endfor %}</tr>
{% endfor %}
</table></div>
<h2>Each flow</h2>
<div class="scroll"><table class="flows">
<tr><th>allocated by</th><th>freed by</th>{% for name in heads %}<th>{{ name }}</th>{% endfor %}</tr>
{% for flow in rows %}
<tr><td>{{ flow.by }}</td><td>{{ flow.to }}</td>{% for cell in flow.cells(total) %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</table></div>
<p>Half live: half of the objects were freed sooner than that. Sizes: the two doublings that carry most bytes; &lt;=1K is
513 to 1024 bytes.</p>
{% endif %}
</html>
""")


def as_page(profile: Profile) -> str:
    flows: list[Flow] = of(profile)
    if not flows:
        return PAGE.render(head=nothing(profile), rows=[])
    names, cells = matrix(flows)
    most, total = max(cells.values()), sum(cells.values())

    def shade(size: float) -> str:
        """White to dark red, with text that can be read on it."""
        part = size / most
        return f"background: rgb({255 - 135 * part:.0f} {255 - 245 * part:.0f} {255 - 245 * part:.0f})" + (
            "; color: #fff" if part > 0.5 else ""
        )

    return PAGE.render(
        head=head(profile, flows),
        advice=advice(profile),
        names=names,
        cells=cells,
        rest=REST,
        rows=flows,
        heads=HEADS,
        total=total,
        shade=shade,
        share=lambda size: f"{size / total:.1%}",
        human=lambda size: human(round(size)),
    )
