"""A sweep as a table and as a picture: the speed over the values of a setting, with its knee."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from twinlog.surface.cli.output import Output, screen

if TYPE_CHECKING:
    from twinlog.doctor.advice.knee import Sweep

_WIDE: Final = 720
_HIGH: Final = 360
_LEFT: Final = 90
_BOTTOM: Final = 60
_TOP: Final = 50
_RIGHT: Final = 30


def print_sweep(sweep: Sweep, output: Output) -> None:
    """Print the table and the verdict."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console, knee = screen(output), sweep.knee
    table = Table(sweep.setting, "records/s", "MB/s", "CPU s/GB", "took", "", box=SIMPLE_HEAD, pad_edge=False)
    for point in sweep.points:
        cost = "unknown" if point.cpu_per_gb is None else f"{point.cpu_per_gb:,.1f}"
        mark = "; ".join(filter(None, ("knee" if point is knee else "", point.remark)))
        rates = f"{point.records_per_second:,.0f}", f"{point.bytes_per_second / 1e6:,.1f}"
        table.add_row(point.value, *rates, cost, f"{point.seconds:.1f} s", mark)
    console.print(table)
    console.soft_wrap = True
    for line in sweep.left_behind:
        console.print(line, style="red", markup=False)
    console.print(sweep.verdict(), style="bold", markup=False)


def sweep_svg(sweep: Sweep) -> str:
    """Draw the speed of each value as one picture that stands alone."""
    return "\n".join(_lines(sweep)) + "\n"


def _lines(sweep: Sweep) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" height="{_HIGH}" '
        'font-family="sans-serif" font-size="13">'
    )
    title = escape(f"{sweep.link}: {sweep.verdict()}")
    yield f"<title>{title}</title>"
    yield f'<rect width="{_WIDE}" height="{_HIGH}" fill="white"/>'
    yield f'<text x="{_LEFT}" y="26" font-weight="bold">{title}</text>'
    best = sweep.best
    if best is None:
        yield "</svg>"
        return
    top, across = best.records_per_second, (_WIDE - _LEFT - _RIGHT) / max(1, len(sweep.points) - 1)
    floor, height = _HIGH - _BOTTOM, _HIGH - _BOTTOM - _TOP
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = floor - share * height
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDE - _RIGHT}" y2="{y:.1f}" stroke="#dde3ea"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#456">{share * top:,.0f}/s</text>'
    spots = [
        (_LEFT + across * place, floor - point.records_per_second / top * height, point)
        for place, point in enumerate(sweep.points)
    ]
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
    yield f'<polyline points="{way}" fill="none" stroke="#2a6fbb" stroke-width="2"/>'
    for x, y, point in spots:
        knee = point is sweep.knee
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{7 if knee else 4}" fill="{"#c0392b" if knee else "#2a6fbb"}"/>'
        if knee:
            yield f'<text x="{x:.1f}" y="{y - 12:.1f}" text-anchor="middle" fill="#c0392b">knee</text>'
        yield f'<text x="{x:.1f}" y="{floor + 20}" text-anchor="middle">{escape(point.value)}</text>'
    middle = (_LEFT + _WIDE - _RIGHT) / 2
    yield f'<text x="{middle:.1f}" y="{_HIGH - 14}" text-anchor="middle" fill="#456">{escape(sweep.setting)}</text>'
    yield "</svg>"
