"""/metrics of processes: the service's own under the names that every exporter has, and all of the mirror by role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from twinlog.watch.processes import ProcessCosts

_OWN: Final = CollectorRegistry()
ProcessCollector(registry=_OWN)
PlatformCollector(registry=_OWN)
_PROCESS_COSTS: Final = ProcessCosts()


def process_families(process_costs: ProcessCosts = _PROCESS_COSTS) -> Iterator[Metric]:
    """The metrics of the service's own process, and of all processes of the mirror."""
    count = GaugeMetricFamily("twinlog_processes", "Processes of the mirror on this machine.", labels=["role"])
    cpu = CounterMetricFamily("twinlog_process_cpu_seconds", "Processor time of them.", labels=["role"])
    memory = GaugeMetricFamily("twinlog_process_memory_bytes", "Memory of them, shared pages once.", labels=["role"])
    for role, cost in process_costs.lately().items():
        count.add_metric([role], cost.processes)
        cpu.add_metric([role], cost.cpu_s)
        memory.add_metric([role], cost.memory_bytes)
    yield from (count, cpu, memory)
    yield from _OWN.collect()
