"""Creating and growing topics on the target, a whole cycle in a few requests. Runs in the service's loop thread."""

from __future__ import annotations

from twinlog.errors import ConfigRefused, PartitionsExist, TopicExists
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.model.topics.configs import named_config
from twinlog.model.topics.findings import ConfigNotSynced, CreateRefused, GrowthRefused, TopicFinding
from twinlog.model.topics.target_topics import AddPartitions, CreateTopic


class TopicOrders:
    """The changes of one cycle, sent together; what the target refuses becomes findings."""

    def __init__(self, target: ClusterAdmin) -> None:
        """Collect for this target; nothing is sent before `apply`."""
        self._target = target
        self._creates: dict[str, CreateTopic] = {}
        self._grows: dict[str, AddPartitions] = {}
        self.findings: list[TopicFinding] = []
        self.created: dict[str, dict[str, str]] = {}  # what was made by us, with which configs

    def create(self, change: CreateTopic) -> None:
        """Put a new topic on the list."""
        self._creates[change.remote] = change

    def grow(self, change: AddPartitions) -> None:
        """Put a growing topic on the list."""
        self._grows[change.remote] = change

    def apply(self) -> dict[str, int]:
        """Send it all. The result is what the target agreed to: partitions by its own topic names."""
        done = self._apply_creates()
        totals = {remote: change.want for remote, change in self._grows.items()}
        for remote, refusal in self._target.create_partitions(totals).items():
            change = self._grows[remote]
            # "Exists" comes from the controller; the broker that we asked before only lags behind it.
            if refusal is None or isinstance(refusal, PartitionsExist):
                done[remote] = change.want
            else:
                problem = refusal.problem
                self.findings.append(GrowthRefused(change.topic, remote, change.have, change.want, problem))
        return done

    def _apply_creates(self) -> dict[str, int]:
        done: dict[str, int] = {}
        pending = {remote: dict(change.configs) for remote, change in self._creates.items()}
        # Each round leaves out at least one config of every topic that goes into the next, so the rounds end.
        while pending:
            refusals = self._target.create_topics(self._order(remote, configs) for remote, configs in pending.items())
            retry: dict[str, dict[str, str]] = {}
            unexplained: dict[str, tuple[dict[str, str], ConfigRefused]] = {}
            for remote, refusal in refusals.items():
                configs = pending[remote]
                match refusal:
                    case None | TopicExists():
                        done[remote] = self._creates[remote].partitions
                        if refusal is None:
                            self.created[remote] = configs
                    case ConfigRefused():
                        culprit = named_config(refusal.problem, configs)
                        if culprit is None:
                            unexplained[remote] = (configs, refusal)
                        else:
                            retry[remote] = self._without(remote, configs, {culprit: refusal.problem})
                    case _:
                        self._refuse(remote, refusal.problem)
            for remote, culprits in self._probe({r: configs for r, (configs, _) in unexplained.items()}).items():
                configs, refusal = unexplained[remote]
                if culprits:
                    retry[remote] = self._without(remote, configs, culprits)
                else:
                    self._refuse(remote, refusal.problem)
            pending = retry
        return done

    def _probe(self, topics: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Which configs the broker refuses on their own, with its reasons; it does not always say so (tiered storage).

        One dry run per position, all topics together, so the number of requests does not grow with the topics.
        """
        culprits: dict[str, dict[str, str]] = {remote: {} for remote in topics}
        for position in range(max((len(configs) for configs in topics.values()), default=0)):
            tried = {
                remote: list(configs.items())[position] for remote, configs in topics.items() if position < len(configs)
            }
            refusals = self._target.create_topics(
                (self._order(remote, dict([config])) for remote, config in tried.items()), validate_only=True
            )
            for remote, refusal in refusals.items():
                if isinstance(refusal, ConfigRefused):
                    culprits[remote][tried[remote][0]] = refusal.problem
        return culprits

    def _order(self, remote: str, configs: dict[str, str]) -> TopicOrder:
        change = self._creates[remote]
        return TopicOrder(remote, change.partitions, change.replication_factor, configs)

    def _without(self, remote: str, configs: dict[str, str], culprits: dict[str, str]) -> dict[str, str]:
        topic = self._creates[remote].topic
        for config, problem in culprits.items():
            self.findings.append(ConfigNotSynced(topic, remote, config, configs[config], problem))
        return {config: value for config, value in configs.items() if config not in culprits}

    def _refuse(self, remote: str, problem: str) -> None:
        self.findings.append(CreateRefused(self._creates[remote].topic, remote, problem))
