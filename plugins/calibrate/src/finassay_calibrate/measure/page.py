"""The page of a calibration: self-contained, without scripts; everything from a delivery is escaped."""

import json
from pathlib import Path

from finassay_calibrate.faults import FAULTS
from finassay_calibrate.measure.grading import BY_ID
from finassay_calibrate.measure.result import Calibration, shortfalls, to_json

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>finassay calibration</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1d2430;background:#fff}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #dde2ea;vertical-align:top}
th{font-weight:600}td.n,th.n{white-space:nowrap;text-align:right;font-variant-numeric:tabular-nums}tr.bad td{background:#fdf0ee}.note{color:#5b6675}
details{margin:.2rem 0}code{font-size:.9em}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#dfe5ee}th,td{border-color:#333c4a}tr.bad td{background:#3a2320}.note{color:#98a3b3}}
</style></head><body>
<h1>Calibration of the evaluator</h1>
<p class="note">{{ found.when.strftime("%Y-%m-%d %H:%M") }} · <code>{{ found.command }}</code> · {{ "%.0f"|format(found.seconds) }} s.
All markets are synthetic: no figure here is about a real company.</p>
<h2>What falls short</h2>
{% if short %}<ul>{% for line in short %}<li>{{ line }}</li>{% endfor %}</ul>{% else %}<p>Nothing: every goal holds.</p>{% endif %}
{% if found.checks %}
<h2>Clean deliveries</h2>
<p>{{ found.checks.made|length }} graded of {{ found.checks.clean|length }} drawn; {{ found.checks.vetoed|length }} vetoed. The goal is none.</p>
<table><thead><tr><th>Veto dimension</th><th class="n">False vetoes</th><th class="n">Clean deliveries</th><th class="n">Rate</th></tr></thead><tbody>
{% for d, (bad, of) in found.checks.false_vetoes().items() %}<tr{% if bad %} class="bad"{% endif %}><td>{{ d }} {{ titles[d] }}</td><td class="n">{{ bad }}</td>
<td class="n">{{ of }}</td><td class="n">{% if of %}{{ "%.2f"|format(100 * bad / of) }} %{% else %}-{% endif %}</td></tr>{% endfor %}</tbody></table>
{% for c in found.checks.vetoed %}<details><summary>{{ c.id }}: {{ c.vetoed|join(", ") }}</summary><p class="note">{{ c.parts|join(" · ") }}</p>
<ul>{% for d in c.vetoed %}<li>{{ d }}, level {{ c.grades[d].level }}: {{ c.grades[d].reason[:600] }}</li>{% endfor %}</ul></details>{% endfor %}
<h2>Planted faults</h2>
<p>Each is planted in clean deliveries that pass its dimension. Found means: the veto of its own dimension fails; where the fault only lowers a level, the level is
lower than that of the clean delivery; for a figure that may lie inside its tolerance, the level is lower or the evidence names the fault.</p>
<table><thead><tr><th>Fault</th><th>Dimension</th><th>Must show as</th><th class="n">Planted</th><th class="n">Found</th><th class="n">Other veto</th>
<th class="n">None</th><th class="n">Rate</th></tr></thead><tbody>
{% for t in found.checks.tallies %}<tr{% if not t.good %} class="bad"{% endif %}><td><b>{{ t.fault }}</b><br><span class="note">{{ faults[t.fault].text }}</span>
{% if t.misses %}<details><summary class="note">not found</summary><ul>{% for m in t.misses[:6] %}<li>{{ m.delivery }}: level {{ m.before }} to {{ m.level }}.
{{ m.error or m.reason }}{% if m.others %} Other vetoes: {{ m.others|join(", ") }}.{% endif %}</li>{% endfor %}</ul></details>{% endif %}</td>
<td>{{ t.dimension }} {{ titles[t.dimension] }}</td><td>{{ {"veto": "veto", "lower": "lower level", "finding": "lower level or named"}[t.shows] }}</td><td class="n">{{ t.planted }}</td>
<td class="n">{{ t.found }}</td><td class="n">{{ t.others }}</td><td class="n">{{ t.none }}</td>
<td class="n">{% if t.planted %}{{ "%.1f"|format(100 * t.rate) }} %{% else %}-{% endif %}</td></tr>{% endfor %}</tbody></table>{% endif %}
{% for title, attacks in (("Judges", found.judges), ("Simulators", found.simulators)) %}{% if attacks %}<h2>{{ title }}</h2>
<table><thead><tr><th>Who</th><th>Attack</th><th class="n">Tried</th><th class="n">Failed</th><th>Seen</th></tr></thead><tbody>
{% for a in attacks %}<tr{% if a.failed or not a.tried %} class="bad"{% endif %}><td>{{ a.party }}</td><td><b>{{ a.kind }}</b><br><span class="note">{{ a.text }}</span></td>
<td class="n">{{ a.tried }}</td><td class="n">{{ a.failed }}</td><td>{% for e in a.examples[:4] %}<div class="note">{{ e[:300] }}</div>{% endfor %}</td></tr>{% endfor %}
</tbody></table>{% endif %}{% endfor %}
{% if found.agreement %}<h2>Agreement of the judge</h2>
<p class="note">kappa with quadratic weights, in brackets the 95 % interval over deliveries or sessions; bias: the second's level minus the first's.</p>
{% for c in found.agreement %}<h3>{{ c.first }} and {{ c.second }}</h3>
<table><thead><tr><th>Dimension</th><th class="n">Pairs</th><th class="n">Exact</th><th class="n">Within one</th><th class="n">Kappa</th><th class="n">Bias</th><th class="n">No verdict</th></tr></thead><tbody>
{% for a in c.rows %}<tr><td>{{ a.dimension }} {{ titles.get(a.dimension, "") }}</td><td class="n">{{ a.pairs }}</td>
<td class="n">{% if a.exact is none %}-{% else %}{{ "%.0f"|format(100 * a.exact) }} %{% endif %}</td><td class="n">{% if a.adjacent is none %}-{% else %}{{ "%.0f"|format(100 * a.adjacent) }} %{% endif %}</td>
<td class="n">{% if a.kappa is none %}-{% else %}{{ "%.2f"|format(a.kappa) }}{% if a.kappa_interval %} ({{ "%.2f"|format(a.kappa_interval[0]) }}, {{ "%.2f"|format(a.kappa_interval[1]) }}){% endif %}{% endif %}</td>
<td class="n">{% if a.bias is none %}-{% else %}{{ "%+.2f"|format(a.bias) }}{% endif %}</td><td class="n">{{ a.first_abstained + a.second_abstained + a.both_abstained }}</td></tr>{% endfor %}
</tbody></table>{% endfor %}{% endif %}
</body></html>
"""


def page(found: Calibration) -> str:
    """The whole page as HTML."""
    from jinja2 import Environment, StrictUndefined

    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(TEMPLATE)
    return template.render(found=found, short=shortfalls(found), titles={d: one.title for d, one in BY_ID.items()}, faults=FAULTS)


def write(found: Calibration, folder: Path) -> tuple[Path, Path]:
    """`calibration.json` and `calibration.html` in the folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    data, shown = folder / "calibration.json", folder / "calibration.html"
    data.write_text(json.dumps(to_json(found), indent=1, ensure_ascii=False), encoding="utf-8")
    shown.write_text(page(found), encoding="utf-8")
    return data, shown
