"""What `--help` and the reference show to begin with: of each command, lines that can be typed as they are."""

from __future__ import annotations

from typing import Final

PREPARED: Final = (
    "Commands that need a settings file take it from --config, TWINLOG_CONFIG or `twinlog context`. Links are quoted "
    "('east->west'): a shell would write to a file. Answers come as -o table, wide, json or yaml."
)

EXAMPLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "init": (
        ("be asked for clusters and topics", "twinlog init links.properties"),
        ("one cluster as the standby of another", "twinlog init links.properties --template active-passive"),
    ),
    "validate": (
        ("what each link resolves to, and from which line", "twinlog validate -c links.properties"),
        ("why one setting has its value", "twinlog validate --explain start.from"),
    ),
    "run": (
        ("mirror, with page, metrics and REST on this machine", "twinlog run --listen 127.0.0.1:8083"),
        ("only say what would be mirrored", "twinlog run --dry-run"),
        ("on a Spark cluster", "twinlog run --master spark://host:7077"),
        (
            "with the files and flags of MirrorMaker 1",
            "twinlog run --consumer.config c.properties --producer.config p.properties --include 'orders.*'",
        ),
    ),
    "advise": (
        ("why a link is slow, and what to set", "twinlog advise 'east->west'"),
        ("what this machine could carry", "twinlog advise 'east->west' --capacity --seconds 60"),
        ("change the file, after a question", "twinlog advise 'east->west' --apply"),
        ("how many tasks are useful", "twinlog advise 'east->west' --sweep tasks.max=1,2,4,8 --plot knee.svg"),
    ),
    "topology": (
        ("shape, routes of records, cost of each loss", "twinlog topology -c links.properties"),
        ("as a picture", "twinlog topology --svg topology.svg"),
    ),
    "status": (
        ("all links, once", "twinlog status"),
        ("one link", "twinlog status 'east->west'"),
        ("how far each partition is", "twinlog status --partitions"),
        ("for a script: which links have faults", "twinlog status -o json | jq '.[] | select(.faults > 0) | .link'"),
    ),
    "top": (("all links, live; Ctrl-C ends it", "twinlog top --every 1"),),
    "groups": (
        ("where every group would continue", "twinlog groups 'east->west'"),
        ("only some", "twinlog groups 'east->west' --group 'billing-.*' -o wide"),
    ),
    "rpo": (("what would be lost if the source vanished now", "twinlog rpo 'east->west'"),),
    "diff": (
        ("what differs, and why", "twinlog diff 'east->west'"),
        ("only these topics", "twinlog diff 'east->west' --topic 'orders.*'"),
    ),
    "explain topic": (("is it mirrored, and by which pattern", "twinlog explain topic orders"),),
    "explain map": (("where its records lie on the target", "twinlog explain map orders --partition 3 --first 5000"),),
    "explain group": (("are its positions translated", "twinlog explain group billing --link 'east->west'"),),
    "doctor": (
        ("would a switch work today", "twinlog doctor 'east->west'"),
        ("a cluster over several datacenters", "twinlog doctor --stretch east --trip-ms 4"),
    ),
    "conflicts": (
        ("of the last hour", "twinlog conflicts 'east->west'"),
        ("of a day, a minute apart", "twinlog conflicts 'east->west' --since 86400 --window 60 --topics 'orders.*'"),
    ),
    "verify": (
        ("compare every record", "twinlog verify 'east->west' --report verify.md"),
        ("a quick look", "twinlog verify 'east->west' --sample 1% --topics 'orders.*'"),
    ),
    "drill": (
        ("the plan of a switch, nothing is touched", "twinlog drill 'east->west' --paper"),
        ("would groups continue where they stopped", "twinlog drill 'east->west' --shadow"),
        ("are the reports as they were written", "twinlog drill --check"),
    ),
    "failover": (
        ("what would be done, and what is at risk", "twinlog failover 'east->west' --planned --dry-run"),
        ("move on purpose, losing nothing", "twinlog failover 'east->west' --planned"),
        ("the source is gone", "twinlog failover 'east->west' --unplanned"),
    ),
    "failback": (
        ("the old primary kept its data", "twinlog failback 'east->west' --delta --dry-run"),
        ("it came back empty", "twinlog failback 'east->west' --full"),
    ),
    "switch status": (("which side is active", "twinlog switch status 'east->west'"),),
    "switch resume": (("continue where it stopped", "twinlog switch resume 'east->west'"),),
    "switch abort": (("let the source write again", "twinlog switch abort 'east->west' --dry-run"),),
    "switch sign": (("show the decision that would be signed", "twinlog switch sign 'east->west' --dry-run"),),
    "translate": (
        (
            "where a reader of the copy continues",
            "twinlog translate 'east->west' --topic orders --partition 0 --offset 4711",
        ),
        (
            "the way back",
            "twinlog translate 'east->west' --topic east.orders --partition 0 --offset 4700 --reverse",
        ),
    ),
    "reset-offsets": (
        (
            "what would change",
            "twinlog reset-offsets --cluster west --group billing --topic orders --to-datetime 2026-11-15T04:00",
        ),
        (
            "write it",
            "twinlog reset-offsets --cluster west --group billing --all-topics --shift-by -100 --execute",
        ),
        (
            "note the positions of today",
            "twinlog reset-offsets --cluster west --group billing --all-topics --to-current --export > before.csv",
        ),
    ),
    "link list": (
        ("of a running service, with how they stand", "twinlog link list --service http://127.0.0.1:8083"),
        ("of a file", "twinlog link list -c links.properties"),
    ),
    "link show": (("all about one", "twinlog link show 'east->west' -o wide"),),
    "link create": (
        ("only check it", "twinlog link create -f orders.json --dry-run"),
        ("make it, and start it later", "twinlog link create -f orders.json --state paused"),
    ),
    "link pause": (("copy nothing for a while", "twinlog link pause 'east->west'"),),
    "link resume": (("continue", "twinlog link resume 'east->west'"),),
    "link stop": (("as pause, for changing positions", "twinlog link stop 'east->west'"),),
    "link restart": (("restart its engine", "twinlog link restart 'east->west'"),),
    "link delete": (("its state, before it ends", "twinlog link delete 'east->west' --dry-run"),),
    "link reset": (("copy one topic again from its first record", "twinlog link reset 'east->west' orders"),),
    "link limit": (
        (
            "5 MB a second by day, no limit otherwise",
            "twinlog link limit 'east->west' none --schedule '08:00-18:00=5000000'",
        ),
        ("at most 2000 records a second", "twinlog link limit 'east->west' none --records 2000"),
        ("what would it cost", "twinlog link limit 'east->west' 1000000 --dry-run"),
        ("as the settings file says", "twinlog link limit 'east->west' file"),
    ),
    "link first": (
        ("payments before all others, while they are behind", "twinlog link first 'east->west' 'payments.*'"),
        ("as the settings file says", "twinlog link first 'east->west' file"),
    ),
    "link control": (("limits of this moment, and when it will have caught up", "twinlog link control 'east->west'"),),
    "link pause-topic": (("one topic, until it is resumed", "twinlog link pause-topic 'east->west' logs"),),
    "link resume-topic": (("from where it stopped", "twinlog link resume-topic 'east->west' logs"),),
    "link accept-truncation": (
        ("what the source lost", "twinlog link accept-truncation 'east->west' orders --dry-run"),
    ),
    "link prepare": (("topics that producers need after a failover", "twinlog link prepare 'east->west'"),),
    "import mm2": (("where MirrorMaker 2 stopped", "twinlog import mm2 'east->west' --dry-run"),),
    "import strimzi": (
        ("a links file from Kubernetes", "twinlog import strimzi mirror-maker-2.yaml > links.properties"),
    ),
    "import mm1": (
        (
            "a links file from MirrorMaker 1",
            "twinlog import mm1 --consumer.config c.properties --producer.config p.properties --include 'orders.*'",
        ),
    ),
    "import brooklin": (
        ("a links file from a datastream", "twinlog import brooklin datastream.json > links.properties"),
    ),
    "import mirus": (("a links file from a connector", "twinlog import mirus mirus.json > links.properties"),),
    "import ureplicator": (
        (
            "a links file from a worker's files",
            "twinlog import ureplicator --consumer.config c.properties --producer.config p.properties --topics orders",
        ),
    ),
    "audit verify": (
        ("is every entry as it was written", "twinlog audit verify /var/log/twinlog/audit.log"),
        ("with the file that was rotated before it", "twinlog audit verify audit.log.1 audit.log"),
        ("the topic, compared with the file", "twinlog audit verify audit.log --topic -c links.properties"),
    ),
    "user add": (
        ("a user who may read", "twinlog user add ann --file users"),
        ("a program that may pause and switch", "twinlog user add ci --file users --role operator --token"),
    ),
    "user remove": (("end their access", "twinlog user remove ann --file users"),),
    "user list": (("who may do what", "twinlog user list --file users"),),
    "context add": (
        ("a file by name", "twinlog context add prod --config /etc/twinlog/links.properties"),
        ("a service by name", "twinlog context add prod --service https://mirror:8083 --user ann"),
    ),
    "context use": (("from now on", "twinlog context use prod"),),
    "context remove": (("forget the name", "twinlog context remove prod"),),
    "context list": (("all of them", "twinlog context list"),),
    "bundle": (("settings, status and a log for support", "twinlog bundle --log twinlog.log"),),
    "connect": (
        ("run connectors with the file of a Connect worker", "twinlog connect -c connect-distributed.properties"),
        ("and start one", "twinlog connect -c connect-standalone.properties file-source.json"),
        ("on a Spark cluster", "twinlog connect -c worker.properties --master spark://host:7077"),
    ),
    "pipeline list": (("all of a worker", "twinlog pipeline list"),),
    "pipeline show": (("one of them", "twinlog pipeline show orders-sink"),),
    "pipeline plugins": (("what configurations can name", "twinlog pipeline plugins"),),
    "pipeline validate": (("is it right", "twinlog pipeline validate orders-sink.json"),),
    "pipeline preview": (("what it would write", "twinlog pipeline preview orders-sink.json"),),
    "pipeline test": (("records in, records out", "twinlog pipeline test orders-sink.json cases.yaml"),),
    "pipeline offsets": (("where it stands", "twinlog pipeline offsets orders-sink"),),
    "pipeline explain": (("what a file means", "twinlog pipeline explain orders-sink.json"),),
    "pipeline diff": (("what would change", "twinlog pipeline diff orders-sink.json"),),
    "pipeline backfill": (
        (
            "some rows once more",
            "twinlog pipeline backfill orders-source.json -c worker.properties --table orders --where 'id <= 500'",
        ),
    ),
    "pipeline verify": (
        ("is the copy right", "twinlog pipeline verify orders-source.json orders-sink.json --table orders"),
    ),
    "pipeline dlq list": (("what was parked, and why", "twinlog pipeline dlq list orders-sink -c worker.properties"),),
    "pipeline dlq show": (
        (
            "the bytes of one, to repair them",
            "twinlog pipeline dlq show orders-sink -c worker.properties --at 0:17 --raw",
        ),
    ),
    "pipeline dlq replay": (
        ("after the target was repaired", "twinlog pipeline dlq replay orders-sink -c worker.properties"),
        (
            "one, with a repaired value",
            "twinlog pipeline dlq replay orders-sink -c worker.properties --at 0:17 --value fixed.json",
        ),
    ),
    "pipeline dlq drop": (("nobody needs it", "twinlog pipeline dlq drop orders-sink -c worker.properties --at 0:17"),),
    "registry run": (
        ("serve schemas with Confluent's own file", "twinlog registry run -c schema-registry.properties"),
        ("only check the file", "twinlog registry run -c schema-registry.properties --dry-run"),
    ),
    "registry promote": (
        ("what would be done", "twinlog registry promote 'A->B' -c links.properties --dry-run"),
        ("let the target take new schemas", "twinlog registry promote 'A->B' -c links.properties"),
    ),
    "registry repair": (
        ("what is wrong in the topic", "twinlog registry repair -c schema-registry.properties --dry-run"),
    ),
    "registry status": (("who leads, and what is wrong", "twinlog registry status http://127.0.0.1:8081"),),
    "registry export": (
        ("all schemas with their ids", "twinlog registry export http://127.0.0.1:8081 -f schemas.jsonl"),
    ),
    "registry import": (
        ("what would be written", "twinlog registry import http://127.0.0.1:8082 -f schemas.jsonl --dry-run"),
        (
            "put them into another registry under their ids",
            "twinlog registry import http://127.0.0.1:8082 -f schemas.jsonl",
        ),
    ),
    "registry verify": (
        ("have both the same", "twinlog registry verify http://127.0.0.1:8081 --against http://127.0.0.1:8082"),
    ),
    "local up": (("two clusters and a file that links them", "twinlog local up east west > links.properties"),),
    "local produce": (
        ("300 records a second for a minute", "twinlog local produce east orders --rate 300 --seconds 60"),
    ),
    "local consume": (("read as the group billing", "twinlog local consume west orders --group billing"),),
    "local status": (("what runs here", "twinlog local status"),),
    "local down": (("stop all and delete their data", "twinlog local down --wipe"),),
    "demo": (
        ("the whole demonstration in a minute", "twinlog demo"),
        ("MySQL to Kafka to Elasticsearch", "twinlog demo pipelines"),
    ),
    "completion": (("for this user, from the next shell on", "twinlog completion zsh > ~/.zfunc/_twinlog"),),
}
