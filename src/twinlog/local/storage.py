"""Format the log folder of a node, as Kafka's StorageTool does, without paying a JVM for each node.

What differs between nodes is a four-line `meta.properties`, written here. What the tool decides (feature levels, SCRAM
users) is one file, `bootstrap.checkpoint`, the same for all nodes of a cluster; and, without users, the same for all
clusters of a Kafka version and its features, so that one is made once per machine.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from twinlog.errors import BrokerNotReady
from twinlog.local.blueprint import Blueprint, draw_id
from twinlog.local.jars import class_path, kafka_jars, resolve
from twinlog.local.security import HOST
from twinlog.machine.folders import cache_folder, write_atomically
from twinlog.machine.java import find_java

_CHECKPOINT = "bootstrap.checkpoint"
_ITERATIONS = 4096


def format_nodes(blueprint: Blueprint, data_folders: Mapping[int, Path], users: Mapping[str, str]) -> None:
    """Make every node's log folder ready for its first start; formatted ones are left as they are."""
    empty = {node: data for node, data in data_folders.items() if not (data / "meta.properties").exists()}
    if not empty:
        return
    with tempfile.TemporaryDirectory(prefix="twinlog-format-") as workplace:
        checkpoint = _checkpoint_for(blueprint, users, Path(workplace))
        for node_id, data in empty.items():
            data.mkdir(parents=True, exist_ok=True)
            if checkpoint.exists():  # Kafka before 3.3 has no features to write down
                shutil.copyfile(checkpoint, data / _CHECKPOINT)
            # Written last: with it the folder counts as formatted.
            write_atomically(
                data / "meta.properties",
                f"version=1\ncluster.id={blueprint.cluster_id}\nnode.id={node_id}\ndirectory.id={draw_id()}\n",
            )


def scram_argument(user: str, password: str, bits: Literal[256, 512] = 512) -> str:
    """Return StorageTool's spelling of a user; the password itself is given to no other process."""
    salt = secrets.token_bytes(24)
    salted = hashlib.pbkdf2_hmac(f"sha{bits}", password.encode(), salt, _ITERATIONS)
    return (
        f"SCRAM-SHA-{bits}=[name={user},iterations={_ITERATIONS},"
        f'salt="{base64.b64encode(salt).decode()}",saltedpassword="{base64.b64encode(salted).decode()}"]'
    )


def _checkpoint_for(blueprint: Blueprint, users: Mapping[str, str], workplace: Path) -> Path:
    if users:
        return _run_storage_tool(blueprint, users, workplace)
    features = "".join(f"-{name}={level}" for name, level in sorted(blueprint.features.items()))
    shared = cache_folder() / "format" / f"{kafka_jars(blueprint.kafka).key}{features}.checkpoint"
    if not shared.exists():
        made = _run_storage_tool(blueprint, users, workplace)
        if not made.exists():
            return made
        shared.parent.mkdir(parents=True, exist_ok=True)
        # Copied beside its place and moved: another process never sees half of it.
        unfinished = shared.with_name(f".{shared.name}.{os.getpid()}")
        shutil.copyfile(made, unfinished)
        unfinished.replace(shared)
    return shared


def _run_storage_tool(blueprint: Blueprint, users: Mapping[str, str], workplace: Path) -> Path:
    data, settings = workplace / "data", workplace / "format.properties"
    settings.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@{HOST}:1\n"
        "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:2,CONTROLLER://:1\n"
        f"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs={data}\n",
        encoding="utf-8",
    )
    jars = class_path(resolve(kafka_jars(blueprint.kafka)))
    arguments = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars]
    arguments += ["kafka.tools.StorageTool", "format", "-t", blueprint.cluster_id, "-c", str(settings)]
    for feature, level in sorted(blueprint.features.items()):
        arguments += ["--feature", f"{feature}={level}"]
    for user, password in users.items():
        arguments += ["--add-scram", scram_argument(user, password, 256)]
        arguments += ["--add-scram", scram_argument(user, password, 512)]
    # In a file: whoever knows a salted password can log in with it, and everybody sees the arguments of a process.
    write_atomically(workplace / "arguments", "\n".join(map(_quoted, arguments)) + "\n")
    command = [str(find_java().java), f"@{workplace / 'arguments'}"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ran.returncode != 0:
        raise BrokerNotReady(
            cluster=blueprint.name,
            node_id=1,
            problem=f"its storage could not be formatted (exit code {ran.returncode})",
            log="of the format command",
            log_tail=ran.stdout[-2000:],
        )
    return data / _CHECKPOINT


def _quoted(argument: str) -> str:
    """An argument as Java's launcher reads it from a file."""
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
