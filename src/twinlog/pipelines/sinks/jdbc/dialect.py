"""What the JDBC sink asks of a database. PostgreSQL and MySQL answer it, each in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Owner, Retriable, Superseded
from twinlog.pipelines.databases.addresses import Address
from twinlog.pipelines.sinks.jdbc.tables import ColumnPlan, Words


class RowsRefused(Exception):
    """The database refuses rows for their content: nothing of the call was kept."""


def younger_owner(address: Address, owner: Owner, partition: TopicPartition) -> Superseded:
    return Superseded(f"{partition}: {address} has a younger owner of {owner.connector}")


def lost_position(
    cursor: Any, table: str, address: Address, owner: Owner, partition: TopicPartition
) -> Retriable | Superseded:
    """Why the position of this owner is not in the table: it was deleted, or another owner has it."""
    cursor.execute(
        f"SELECT 1 FROM {table} WHERE connector = %s AND topic = %s AND part = %s",
        [owner.connector, partition.topic, partition.partition],
    )
    if cursor.fetchone() is None:
        return Retriable(f"{partition}: its position was deleted from {table}; the task stores it again", 0)
    return younger_owner(address, owner, partition)


class Database(Protocol):
    """One connection, with one transaction open at a time."""

    words: Words

    def columns(self, table: str) -> dict[str, str] | None:
        """Columns of a table and their types; None: there is no such table."""
        ...

    def missing_right(self, table: str) -> str:
        """Why a table that is not there cannot be created; empty: it is there, or can be. Raises Retriable."""
        ...

    def run(self, statement: str) -> None:
        """One statement in a transaction of its own."""
        ...

    def claim(self, owner: Owner, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Become the owner of positions. Raises Superseded."""
        ...

    def stored(self, connector: str) -> dict[TopicPartition, int]:
        """Positions of a connector."""
        ...

    def insert(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        """Raises RowsRefused, Retriable."""
        ...

    def upsert(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        """Raises RowsRefused, Retriable."""
        ...

    def update(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        """Raises RowsRefused, Retriable."""
        ...

    def delete(self, table: str, keys: Sequence[ColumnPlan], rows: pa.Table) -> None:
        """Raises RowsRefused, Retriable."""
        ...

    def commit(self, owner: Owner, positions: Mapping[TopicPartition, int]) -> None:
        """Store positions and end the transaction. Raises Superseded, Retriable."""
        ...

    def close(self) -> None:
        """Give up what was not committed."""
        ...
