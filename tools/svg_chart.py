# SPDX-License-Identifier: Apache-2.0
"""svg_chart - small pictures of numbers, readable on light and on dark pages. No library: what is
needed are lines, dots, a grid and words."""

import math
from xml.sax.saxutils import escape

WIDTH = 860
STYLE = """
:root { --ink: #1f2328; --faint: #d0d7de; --page: #ffffff; --a: #0969da; --b: #bc4c00;
  --good: #1a7f37; --bad: #cf222e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #30363d; --page: #0d1117; --a: #58a6ff; --b: #f0883e;
    --good: #3fb950; --bad: #f85149; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.title { font-weight: 600; font-size: 14px; }
.page { fill: var(--page); }
.grid { stroke: var(--faint); stroke-width: 1; fill: none; }
.goal { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; }
.a { stroke: var(--a); fill: none; stroke-width: 1.6; }
.b { stroke: var(--b); fill: none; stroke-width: 1.6; }
.dot-a { fill: var(--a); } .dot-b { fill: var(--b); }
.dot-good { fill: var(--good); } .dot-bad { fill: var(--bad); }
"""


def short(number):
    """A number in few characters: 1.5k, 20M."""
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            return f"{number / limit:.3g}{sign}"
    return f"{number:.3g}"


class Axis:
    """From numbers to places; linear from zero, or logarithmic."""

    def __init__(self, values, begin, end, log=False):
        self.begin, self.end, self.log = begin, end, log
        if log:
            self.low = math.floor(math.log10(min(values)))
            self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        else:
            top = max(max(values), 1e-9)
            step = 10 ** math.floor(math.log10(top))
            self.step = next(s for s in (step / 5, step / 2, step, 2 * step) if top / s <= 6)
            self.low, self.high = 0, self.step * math.ceil(top / self.step)

    def place(self, value):
        if self.log:
            value = math.log10(value)
        part = (value - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)

    def ticks(self):
        if self.log:
            return [10.0 ** power for power in range(self.low, self.high + 1)]
        return [self.step * i for i in range(round(self.high / self.step) + 1)]


class Chart:
    def __init__(self, height, words):
        self.height = height
        self.parts = [f'<title>{escape(words)}</title><style>{STYLE}</style>'
                      f'<rect class="page" width="{WIDTH}" height="{height}"/>']

    def text(self, x, y, words, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'class="{kind}">{escape(words)}</text>')

    def line(self, points, kind):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{path}"/>')

    def dot(self, x, y, kind):
        self.parts.append(f'<circle class="dot-{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')

    def panel(self, top, height, title, lines, log=(False, False), dots=False):
        """One diagram; `lines` is [(name, kind, [(x, y)])]."""
        left, right, bottom = 70, WIDTH - 20, top + height - 34
        points = [point for _, _, line in lines for point in line]
        across = Axis([x for x, _ in points], left, right, log[0])
        up = Axis([y for _, y in points], bottom, top + 26, log[1])
        self.text(left, top + 14, title, "title")
        for tick in up.ticks():
            y = up.place(tick)
            self.line([(left, y), (right, y)], "grid")
            self.text(left - 6, y + 4, short(tick), anchor="end")
        for tick in across.ticks():
            self.text(across.place(tick), bottom + 16, short(tick), anchor="middle")
        for number, (name, kind, line) in enumerate(lines):
            placed = [(across.place(x), up.place(y)) for x, y in line]
            self.line(placed, kind)
            for x, y in placed if dots else ():
                self.dot(x, y, kind)
            self.dot(right - 180 + 95 * number, top + 10, kind)
            self.text(right - 172 + 95 * number, top + 14, name)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
                      f'{self.height}" width="{WIDTH}" height="{self.height}" role="img">\n'
                      + "\n".join(self.parts) + "\n</svg>\n")
