"""Setting configs of target topics, many topics in a few requests. Runs in the service's worker threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied, ClusterError, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.topics.configs import ConfigRules, named_config

ConfigChanges: TypeAlias = Mapping[str, Mapping[str, str | None]]
Refusals: TypeAlias = dict[str, dict[str, str]]
"""By topic and config: the broker's words."""


def config_rules(link: LinkSettings) -> ConfigRules:
    """What the link's settings say about topic configs."""
    return ConfigRules(
        exclude=link.configs.exclude,
        copy_defaults=link.configs.use_defaults_from == "source",
        conflict=link.configs.conflict,
    )


def apply_configs(target: ClusterAdmin, changes: ConfigChanges) -> Refusals:
    """Set and unset; what a broker refuses is left out and all else of that topic is still done (R8, R13)."""
    refused: Refusals = {}
    pending = {topic: dict(configs) for topic, configs in changes.items() if configs}
    # Each round leaves out at least one config of every topic that goes into the next, so the rounds end.
    while pending:
        retry: dict[str, dict[str, str | None]] = {}
        unexplained: dict[str, dict[str, str | None]] = {}
        for topic, refusal in target.apply_topic_configs(pending).items():
            configs = pending[topic]
            match refusal:
                case None:
                    continue
                case AccessDenied() | TopicUnknown():  # it is not about a value: no config of this topic can be set
                    refused.setdefault(topic, {}).update(dict.fromkeys(configs, refusal.problem))
                case _:
                    culprit = named_config(refusal.problem, configs)
                    if culprit is None and len(configs) > 1:
                        unexplained[topic] = configs
                        continue
                    guilty = culprit or next(iter(configs))
                    refused.setdefault(topic, {})[guilty] = refusal.problem
                    if len(configs) > 1:
                        retry[topic] = {name: value for name, value in configs.items() if name != guilty}
        for topic, problems in _apply_singly(target, unexplained).items():
            refused.setdefault(topic, {}).update(problems)
        pending = retry
    return refused


def _apply_singly(target: ClusterAdmin, topics: Mapping[str, Mapping[str, str | None]]) -> Refusals:
    """One config per request and topic, all topics together: the answer is then about that config."""
    refused: Refusals = {}
    for position in range(max((len(configs) for configs in topics.values()), default=0)):
        tried = {t: list(configs.items())[position] for t, configs in topics.items() if position < len(configs)}
        answers: Mapping[str, ClusterError | None] = target.apply_topic_configs(
            {topic: dict([config]) for topic, config in tried.items()}
        )
        for topic, refusal in answers.items():
            if refusal is not None:
                refused.setdefault(topic, {})[tried[topic][0]] = refusal.problem
    return refused
