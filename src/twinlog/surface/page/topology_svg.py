"""The clusters and links of a file as one SVG picture that stands alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from twinlog.model.routes.survey import Survey
from twinlog.surface.page.picture import picture_of


def svg_of(survey: Survey) -> str:
    """Draw it: a box per cluster, red where what is written there has one copy only; an arrow per link."""
    return "\n".join(_lines(survey)) + "\n"


def _lines(survey: Survey) -> Iterator[str]:
    drawn = picture_of((str(link), link.source, link.target) for link in survey.links)
    single = {loss.cluster for loss in survey.losses if loss.single}
    copies = survey.copies_of_a_record
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawn.width} {drawn.height}" '
        f'width="{drawn.width}" height="{drawn.height}" font-family="sans-serif" font-size="14">'
    )
    yield f"<title>{escape('; '.join(survey.shapes))}</title>"
    yield (
        '<defs><marker id="end" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#456"/></marker></defs>'
    )
    yield f'<rect width="{drawn.width}" height="{drawn.height}" fill="white"/>'
    for arrow in drawn.arrows:
        yield f'<path d="{arrow.path}" fill="none" stroke="#456" stroke-width="2" marker-end="url(#end)"/>'
    for node in drawn.nodes:
        colour = "#c0392b" if node.name in single else "#2a6fbb"
        yield (
            f'<rect x="{node.left}" y="{node.top}" width="{drawn.box_width}" height="{drawn.box_height}" rx="8" '
            f'fill="#f4f7fb" stroke="{colour}" stroke-width="2"/>'
        )
        yield f'<text x="{node.x}" y="{node.y - 2}" text-anchor="middle" font-weight="bold">{escape(node.label)}</text>'
        told = "1 copy only" if node.name in single else f"{copies[node.name]} copies"
        yield f'<text x="{node.x}" y="{node.y + 18}" text-anchor="middle" fill="{colour}">{told}</text>'
    yield "</svg>"
