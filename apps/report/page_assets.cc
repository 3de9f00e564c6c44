// The page's style and script. Neither loads anything; the script puts text into the page as text
// only.
#include "apps/report/page.h"

namespace swarm::report {

const char* const kStyle = R"css(
:root { color-scheme: light dark; --text: #1c2128; --soft: #667080; --line: #dde2e8; --back: #fff;
  --panel: #f6f8fa; --c0: #0b66c2; --c1: #d1480b; --c2: #17864a; --c3: #8a3fc0; --c4: #b8860b;
  --c5: #c2185b; --c6: #00838f; --c7: #6d4c41; --c8: #5c6bc0; --c9: #607d1b; --bad: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e8ee; --soft: #97a3b0; --line: #333c46;
  --back: #14181d; --panel: #1c2229; --c0: #62aef7; --c1: #ff9057; --c2: #5fce8f; --c3: #c792f2;
  --c4: #e5bd4f; --c5: #f578a7; --c6: #4fd0dc; --c7: #c9a594; --c8: #a5b0f5; --c9: #b5d465;
  --bad: #ff7b72; } }
.c0 { color: var(--c0) } .c1 { color: var(--c1) } .c2 { color: var(--c2) } .c3 { color: var(--c3) }
.c4 { color: var(--c4) } .c5 { color: var(--c5) } .c6 { color: var(--c6) } .c7 { color: var(--c7) }
.c8 { color: var(--c8) } .c9 { color: var(--c9) }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 1280px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 2em }
p, li { max-width: 75ch }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .3em .5em; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; white-space: nowrap }
th:first-child, td:nth-child(2), .settings td { text-align: left }
.settings td { white-space: normal; min-width: 8em; max-width: 22em; overflow-wrap: anywhere }
tr.group { background: var(--panel) } th.inner { font-weight: normal; padding-left: 2em }
small { display: block; color: var(--soft) }
.swatch { display: inline-block; width: .75em; height: .75em; margin-right: .5em; border-radius: 2px;
  background: currentColor }
.notes { color: var(--bad); font-size: 14px }
.legend { max-width: none }
.legend button { font: inherit; font-size: 13px; background: var(--panel); border: 1px solid
  var(--line); border-radius: 4px; padding: .1em .6em; margin: .15em; cursor: pointer }
.legend button.off { opacity: .4; text-decoration: line-through }
figure { margin: 1em 0; overflow-x: auto } figcaption { font-weight: 600; font-size: 14px }
svg text { fill: var(--text); font: 11px system-ui, sans-serif }
svg.chart { width: 100%; max-width: 1080px; min-width: 560px; display: block }
svg text.title { font-size: 14px; font-weight: 600 }
svg text.label, svg text.tick { fill: var(--soft) }
svg .end { text-anchor: end } svg .middle { text-anchor: middle }
.axes path { stroke: var(--line); fill: none }
.mean { stroke: currentColor; fill: none; stroke-width: 1.5; stroke-linejoin: round }
.part { stroke-dasharray: 4 3 }
.band { fill: currentColor; opacity: .2 } .dot { fill: currentColor }
.peers { fill: currentColor; opacity: .55 }
.row { display: flex; flex-wrap: wrap; gap: 1em } svg.bars { width: 220px } .bar { fill: currentColor }
.mark { fill: var(--soft) } .lane-0 .mark, .lane-2 .mark { fill: var(--c1) }
.lane-1 .mark { fill: var(--c4) } .lane-3 .mark, .lane-4 .mark { fill: var(--c2) }
.lane-5 .mark { fill: var(--c0) } .lane-6 .mark { fill: var(--bad) }
summary { cursor: pointer; font-size: 14px }
#tip { position: fixed; z-index: 1; pointer-events: none; background: var(--panel); color: var(--text);
  border: 1px solid var(--line); border-radius: 4px; padding: .3em .6em; font-size: 12px;
  white-space: pre; font-variant-numeric: tabular-nums }
#hair { stroke: var(--soft); stroke-dasharray: 2 2 }
)css";

const char* const kScript = R"js(
'use strict';
const tip = document.getElementById('tip');
for (const button of document.querySelectorAll('.legend button')) {
  button.addEventListener('click', () => {
    const off = button.classList.toggle('off');
    for (const series of document.querySelectorAll('.series'))
      if (series.dataset.label === button.dataset.label) series.style.display = off ? 'none' : '';
  });
}
function vertices(series) {
  if (series.found) return series.found;
  series.found = [];
  for (const path of series.querySelectorAll('.mean'))
    for (const pair of path.getAttribute('d').split(/[ML]/))
      if (pair) series.found.push(pair.split(',').map(Number));
  if (series.found.length === 0)
    for (const dot of series.querySelectorAll('.dot'))
      series.found.push([Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]);
  return series.found;
}
for (const svg of document.querySelectorAll('svg.chart')) {
  const all = svg.querySelectorAll('.series');
  if (all.length === 0) continue;
  const d = {};
  for (const key in svg.dataset) d[key] = Number(svg.dataset[key]);
  const hair = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  hair.id = 'hair';
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const part = (x - d.left) / d.width;
    if (part < 0 || part > 1) { leave(); return; }
    const rows = [];
    for (const series of all) {
      if (series.style.display === 'none') continue;
      let best = null;
      for (const v of vertices(series))
        if (!best || Math.abs(v[0] - x) < Math.abs(best[0] - x)) best = v;
      if (!best || Math.abs(best[0] - x) > d.width / 20) continue;
      const y = d.y1 - (best[1] - d.top) / d.height * (d.y1 - d.y0);
      rows.push([y, '\u2248 ' + y.toPrecision(4) + '  ' + series.dataset.label]);
    }
    rows.sort((a, b) => b[0] - a[0]);
    const where = (d.x0 + part * (d.x1 - d.x0)).toPrecision(5);
    tip.textContent = [Number(where), ...rows.map((row) => row[1])].join('\n');
    tip.hidden = false;
    const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
    tip.style.left = (right ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16) + 'px';
    tip.style.top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight) + 'px';
    hair.setAttribute('x1', x); hair.setAttribute('x2', x);
    hair.setAttribute('y1', d.top); hair.setAttribute('y2', d.top + d.height);
    svg.append(hair);
  });
  const leave = () => { tip.hidden = true; hair.remove(); };
  svg.addEventListener('pointerleave', leave);
}
)js";

}  // namespace swarm::report
