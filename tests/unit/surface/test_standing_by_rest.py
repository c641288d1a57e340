"""Services of one group over REST: the one that stands by, the one that leads, and what each says about it."""

from __future__ import annotations

import pytest
from tests.kit.connect_paper import PaperService, PaperStore, PaperTopic, asked, await_links, make
from tests.kit.waiting import wait_until

from twinlog.model.connectors import Leader

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\ntopics = filed\ntasks.max = 2\n"


@pytest.fixture
def topic() -> PaperTopic:
    return PaperTopic()


@pytest.mark.proves("R9")
def test_a_service_that_stands_by_runs_nothing_and_takes_over(topic: PaperTopic):
    first, second = PaperService(topic, text=FILE), PaperService(topic, text=FILE, instance="two")
    with asked(first) as client:
        make(client)
        await_links(first, "A->B", "F->G")
        with asked(second, active=False) as other:
            assert second.runner.links == {}
            assert other.get("/health").json()["message"] == "This service is the standby of http://one:8083"
            refused = other.put("/connectors/c/pause")
            assert refused.status_code == 409, "nobody answers at http://one:8083"
            assert "Ask it directly" in refused.json()["message"], "nobody signed that it leads"
            assert other.get("/connectors/c/status").json()["connector"]["state"] == "UNASSIGNED"
            topic.stores[1].on_elected()
            await_links(second, "A->B", "F->G")
            await_links(first)
            assert client.get("/connectors/c/status").json()["connector"]["state"] == "UNASSIGNED"
            assert not first.control.leadership.active
            assert other.delete("/connectors/c").status_code == 204
            await_links(second, "F->G")


def test_a_service_is_not_ready_before_it_is_known_who_leads(topic: PaperTopic):
    topic.stores.append(PaperStore(topic, None, lambda _: None, lambda: None))  # somebody is before us in the line
    service = PaperService(topic)
    with asked(service, active=False) as client:
        said = client.get("/health")
        assert (said.status_code, said.json()["status"]) == (503, "starting")
        topic.plant(*topic.group_state.leader_record(Leader("before", service.control.leadership.url)))
        assert client.get("/health").status_code == 503, "who led at this address before is no more"
        topic.stores[1].on_elected()
        wait_until(lambda: client.get("/health").status_code, lambda code: code == 200, within_s=20, what="our turn")


@pytest.mark.proves("R7")
def test_links_that_the_leader_does_not_have_are_not_silently_left_out(topic: PaperTopic):
    more = FILE.replace("clusters = F, G", "clusters = F, G, H") + "H->G.enabled = true\n"
    first, second = PaperService(topic, text=FILE), PaperService(topic, text=more, instance="two")
    with asked(first), asked(second, active=False) as other:
        answer = other.get("/health")
        assert answer.status_code == 500
        assert "H->G" in answer.json()["message"]
        assert "F->G" not in answer.json()["message"]


@pytest.mark.proves("R14")
def test_a_service_whose_link_another_engine_took_is_unhealthy_and_says_who(topic: PaperTopic):
    service = PaperService(topic, text=FILE)
    with asked(service) as client:
        await_links(service, "F->G")
        assert client.get("/health").status_code == 200
        service.runner.phases["F->G"] = ("superseded", "the engine on vm (pid 7) has run this link since 14:02")
        answer = client.get("/health")
        assert (answer.status_code, answer.json()["status"]) == (500, "unhealthy")
        assert "F->G: the engine on vm (pid 7)" in answer.json()["message"]
