"""The frame of every page, which needs no script and loads nothing; HTML by construction; the
styles."""

import html
import re
from collections.abc import Sequence

# HTML and SVG by construction: everything that is not `Markup` is escaped.
#
# A foreign string can be placed in a page only as a child or an attribute of `tag`, so a scenario
# called `<script>` stays a name.


TEXT_LIMIT = 2_000  # characters of one foreign string; an error text may be a whole log

# Characters that change how a text reads: controls, bidirectional overrides, lone surrogates (which
# cannot even be encoded).
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_VOID_TAGS = frozenset({"meta", "br", "col", "input"})

Child = str | int | None


class Markup(str):
    """Text that already is our own markup."""

    __slots__ = ()


def clipped(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text of at most `limit` characters, and how much it lost."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … ({len(text) - limit} more characters)"


def escaped(value: Child) -> Markup:
    """The markup that shows `value` as it is; invisible characters by their number."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup("")
    visible = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", clipped(str(value)))
    return Markup(html.escape(visible, quote=True))


def tag(element: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """An element; attributes that are None are left out, `class_` is class, `_` is a hyphen."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _VOID_TAGS:
        return Markup(f"<{element}{written}>")
    return Markup(f"<{element}{written}>{joined(*children)}</{element}>")


def joined(*parts: Child) -> Markup:
    return Markup("".join(map(escaped, parts)))


def _number(value: str | int | float) -> str | int:
    """Pixels to a tenth: more digits only make the page longer."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


# The page's only style sheet. Red is reserved for lost records and proved violations.


STYLE = """
:root { color-scheme: light dark;
  --paper: #fdfdfb; --ink: #1d2126; --soft: #5b636d; --rule: #dcdedc; --panel: #f4f4f0;
  --valid: #1f7a56; --invalid: #c3272b; --error: #8a4a12; --void: #9a6b00; --unknown: #5d5aa0;
  --ok: #4a7bb0; --fail: #c9a227; --info: #8d93a1;
  --leader: #24476f; --follower: #c5d3e2; --voting: #c9a227; --idle: #dfe1e3;
  --band: #a8791f; --band-alpha: .13; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #15181c; --ink: #e4e6e8; --soft: #9aa2ab; --rule: #33383e; --panel: #1d2126;
  --valid: #57b98f; --invalid: #f0676a; --error: #d99a5b; --void: #d9ab3f; --unknown: #a3a0e0;
  --ok: #6f9fd2; --fail: #d4b44a; --info: #7d8490;
  --leader: #86b3e6; --follower: #35485d; --voting: #b8952c; --idle: #2b3036;
  --band: #d7a64a; --band-alpha: .15; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 32px 64px; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header { border-top: 6px solid var(--tone); padding-top: 18px; }
.valid { --tone: var(--valid); } .invalid { --tone: var(--invalid); }
.error { --tone: var(--error); } .void { --tone: var(--void); } .unknown { --tone: var(--unknown); }
.word { color: var(--tone); font-weight: 700; letter-spacing: .02em; }
h1 { margin: 0 0 4px; font-size: 30px; line-height: 1.2; }
h1 .word { text-transform: uppercase; font-size: 30px; margin-right: .35em; }
h1 .what { font-weight: 500; }
p.sentence { margin: 0 0 16px; font-size: 18px; max-width: 62em; overflow-wrap: anywhere; }
h2 { margin: 40px 0 10px; font-size: 19px; border-bottom: 1px solid var(--rule);
  padding-bottom: 5px; }
h3 { margin: 22px 0 4px; font-size: 15px; }
p { margin: 6px 0; max-width: 76em; } .soft { color: var(--soft); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(168px, 1fr));
  gap: 10px 24px; margin: 0 0 16px; }
dl.facts div { min-width: 0; } dt { color: var(--soft); font-size: 12.5px; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
pre { margin: 4px 0 0; padding: 9px 13px; background: var(--panel); border-radius: 4px;
  white-space: pre; overflow-x: auto; font-size: 13.5px; }
code, pre { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12.5px;
  vertical-align: bottom; }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule); }
td { vertical-align: top; overflow-wrap: anywhere; }
th.number, td.number { text-align: right; white-space: nowrap; }
td.fixed { white-space: nowrap; }
td.wide { min-width: 18em; } td.middling { min-width: 10em; }
td.narrow { min-width: 6.5em; }
summary { cursor: pointer; white-space: nowrap; color: var(--soft); }
details table { width: auto; font-size: 12.5px; margin: 2px 0 4px; }
details th { overflow-wrap: normal; }
details th.number { white-space: normal; min-width: 5.5em; font-weight: 400; }
details tr:last-child td { border-bottom: 0; }
tr.bad td { background: color-mix(in srgb, var(--invalid) 8%, transparent); }
ul { padding-left: 1.2em; margin: 6px 0; } li { margin: 3px 0; max-width: 76em; }
figure { margin: 10px 0 0; } figure .scroll + .scroll { margin-top: 14px; }
figcaption { color: var(--soft); font-size: 13px; margin-top: 4px; }
svg { display: block; width: 100%; min-width: 720px; height: auto; }
svg text { fill: var(--ink); font: 11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
svg text.soft { fill: var(--soft); } svg text.on { fill: var(--paper); }
svg text.title { font-weight: 600; } svg text.hit { fill: var(--invalid); font-weight: 700; }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .edge { stroke: var(--soft); }
svg .band { fill: var(--band); fill-opacity: var(--band-alpha); }
svg .fault { fill: var(--band); fill-opacity: .55; }
svg .ok { fill: var(--ok); } svg .fail { fill: var(--fail); } svg .info { fill: var(--info); }
svg .leader { fill: var(--leader); } svg .follower { fill: var(--follower); }
svg .candidate, svg .prospective { fill: var(--voting); }
svg .unattached, svg .resigned, svg .voted, svg .running { fill: var(--idle); }
svg .elr { fill: var(--voting); }
svg .last-known { fill: none; stroke: var(--voting); stroke-width: 2; }
svg .outside { fill: var(--panel); } svg .leaderless { fill: var(--invalid); }
svg .told { fill: var(--ok); } svg .gone { fill: var(--invalid); }
svg .excused { fill: var(--fail); } svg .hwm { stroke: var(--ink); stroke-width: 1; }
svg .off { fill: var(--paper); stroke: var(--soft); stroke-dasharray: 3 2; }
svg .paused { fill: url(#hatch); stroke: var(--soft); }
svg .hatch { stroke: var(--soft); stroke-width: 1.5; }
svg .line { fill: none; stroke-width: 1.4; stroke-linejoin: round; }
svg .p50 { stroke: var(--ok); } svg .p99 { stroke: var(--leader); }
svg .max { stroke: var(--info); stroke-dasharray: 2 2; }
svg .witness { stroke: var(--invalid); stroke-width: 1; }
svg .mark { fill: var(--invalid); } svg .seen { stroke: var(--invalid); stroke-width: 2; }
footer { margin-top: 44px; color: var(--soft); font-size: 13px; }
@media print { body { padding: 0; max-width: none; font-size: 11pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } .scroll { overflow: visible; } svg { min-width: 0; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


# Nothing may be loaded and no script may run, whatever a hostile string may contain.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document(title: str, body: Sequence[Child]) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *body), lang='en')}\n"


def section(title: str, *parts: Child) -> Markup:
    return tag("section", tag("h2", title), *parts)
