"""What the links of a file make together, as sentences and as JSON: `twinlog topology` and /v1/topology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from twinlog.config.settings import LinkSettings
from twinlog.model.names import LinkName
from twinlog.model.routes.survey import Loss, Survey, survey
from twinlog.model.routes.topology import ANY_TOPIC, Route

_SHOWN: Final = 6


def survey_of(links: Iterable[LinkSettings]) -> Survey:
    """Judge links as they were resolved."""
    routes, rpo = [], {}
    for link in links:
        name = LinkName(link.source, link.target)
        routes.append(Route(name, link.naming, link.topics, link.provenance))
        rpo[name] = link.objectives.otherwise.rpo_seconds
    return survey(routes, rpo)


def judgements(survey: Survey) -> Iterator[str]:
    """Say what is good and what is missing, one sentence each; the worst first."""
    for loss in survey.losses:
        if loss.single:
            yield f"{loss.cluster}: what is written there has one copy only; no link copies it anywhere"
    for loss in survey.losses:
        if loss.cut_off:
            pairs = ", ".join(f"{origin}'s records at {at}" for origin, at in loss.cut_off[:_SHOWN])
            more = f" and {len(loss.cut_off) - _SHOWN} more" if len(loss.cut_off) > _SHOWN else ""
            yield f"{loss.cluster}: other clusters depend on it; without it these stop: {pairs}{more}"
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for cluster, topic, writers in survey.merged:
        merged.setdefault((cluster, writers), []).append("what patterns select" if topic == ANY_TOPIC else topic)
    for (cluster, writers), topics in merged.items():
        yield (
            f"{cluster}: one topic holds records of {' and '.join(writers)} ({', '.join(topics)}); order is kept for "
            "each origin, not between them"
        )
    two_way = [
        link for link in survey.links if LinkName(link.target, link.source) in survey.links and link[0] < link[1]
    ]
    for source, target in two_way:
        yield f"{source} and {target}: both may be written; a key that is written on both sides has no common order"
    for link in survey.links:
        back = LinkName(link.target, link.source)
        # With the same names on both sides a failback brings its own way back.
        if back not in survey.links and len(survey.clusters) == 2 and link not in survey.same_names:
            yield f"{link}: a failback needs the way back; set `{link.target}->{link.source}.enabled = true`"
    yield _growth(survey)


def transform_sentences(links: Iterable[LinkSettings]) -> Iterator[str]:
    """Say which links change records on their way, and what they mask by a residency rule."""
    for link in links:
        if link.transforms.steps:
            yield f"{link.name}: copies differ by design; transforms: {', '.join(link.transforms.steps)}"
        for mask in link.transforms.masks:
            yield f"{link.name}: residency {mask.rule} masks {', '.join(mask.fields)}"


def _growth(survey: Survey) -> str:
    count, links = len(survey.clusters), len(survey.links)
    return (
        f"{links} link{'' if links == 1 else 's'} for {count} clusters; one more cluster would need {2 * count} links "
        "in a full mesh, 2 with a hub, 1 as a standby"
    )


def loss_sentence(loss: Loss) -> str:
    """What the loss of one cluster costs."""
    stops = f"links that stop: {', '.join(map(str, loss.stops)) or 'none'}"
    if loss.single:
        return f"everything that was written there is gone; {stops}"
    limit = "rpo.seconds is not set" if loss.rpo_seconds is None else f"objective: {loss.rpo_seconds} s"
    topics = ", ".join(loss.copied) or "no topic"
    return (
        f"{topics} exist on {', '.join(loss.kept_at)}; lost is what was not copied yet ({limit}); topics that no link "
        f"selects are gone; {stops}"
    )


def topology_json(survey: Survey, links: Sequence[LinkSettings]) -> dict[str, Any]:
    """All of it, for programs."""
    by_name = {LinkName(link.source, link.target): link for link in links}
    return {
        "clusters": list(survey.clusters),
        "shapes": list(survey.shapes),
        "links": [
            {
                "link": str(name),
                "topics": list(by_name[name].topics.include),
                "exclude": list(by_name[name].topics.exclude),
                "named": by_name[name].naming.remote(name.source, "TOPIC"),
                "rpo_seconds": by_name[name].objectives.otherwise.rpo_seconds,
                "transforms": list(by_name[name].transforms.steps),
                "masks": [
                    {"rule": mask.rule, "topics": list(mask.topics.patterns), "fields": list(mask.fields)}
                    for mask in by_name[name].transforms.masks
                ],
            }
            for name in survey.links
        ],
        "ways": [{**way._asdict(), "hops": way.hops} for way in survey.ways],
        "copies_of_a_record": survey.copies_of_a_record,
        "losses": [
            {
                "cluster": loss.cluster,
                "stops": list(map(str, loss.stops)),
                "kept_at": list(loss.kept_at),
                "single_copy": loss.single,
                "cut_off": [{"origin": origin, "at": at} for origin, at in loss.cut_off],
                "rpo_seconds": loss.rpo_seconds,
            }
            for loss in survey.losses
        ],
        "merged": [{"cluster": cluster, "topic": t, "origins": list(o)} for cluster, t, o in survey.merged],
        "judgements": [*judgements(survey), *transform_sentences(links)],
    }
