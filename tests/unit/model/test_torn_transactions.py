"""Which transactions a cut tore, from what lies on both sides of it."""

from __future__ import annotations

import pytest

from twinlog.model.names import TopicPartition
from twinlog.model.switch.torn_transactions import TransactionId, TransactionScan, counted, torn_transactions

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
ONE, NEXT = TransactionId(7, 3), TransactionId(7, 4)


def scan(partition, *ended):
    """Committed transactions: (id, records before the cut, records behind it, its marker is copied, from ms, to ms)."""
    found = TransactionScan(partition)
    for transaction, copied, lost, is_copied, began, until in ended:
        found.records(transaction, copied, lost, began)
        found.marker(transaction, until, committed=True, is_copied=is_copied)
    return found


@pytest.mark.proves("R7")
def test_a_transaction_with_one_half_on_each_side_is_torn():
    (torn,) = torn_transactions([scan(ORDERS, (ONE, 5, 0, True, 1, 9)), scan(PAYMENTS, (ONE, 0, 2, False, 2, 9))])
    assert torn.certain
    assert str(torn) == (
        "transaction of producer 7, epoch 3, torn: copied orders-0 (5 records); not copied payments-0 (2 records)"
    )


def test_whole_transactions_are_not_torn():
    scans = [scan(ORDERS, (ONE, 5, 0, True, 1, 9)), scan(PAYMENTS, (NEXT, 0, 2, False, 10, 11))]
    assert torn_transactions(scans) == []


def test_a_cut_through_the_records_of_one_partition_tears_too():
    (torn,) = torn_transactions([scan(ORDERS, (ONE, 5, 4, False, 1, 9))])
    assert (torn.copied, torn.lost, torn.certain) == ({ORDERS: 5}, {ORDERS: 4}, True)


def test_transactions_that_share_an_epoch_are_told_apart_by_their_times():
    orders = scan(ORDERS, (ONE, 5, 0, True, 1, 9), (ONE, 1, 0, True, 20, 29))
    (torn,) = torn_transactions([orders, scan(PAYMENTS, (ONE, 0, 2, False, 21, 30))])
    assert (torn.copied, torn.lost, torn.certain) == ({ORDERS: 1}, {PAYMENTS: 2}, False)
    assert "torn by its times" in str(torn)
    assert torn_transactions([orders, scan(PAYMENTS, (ONE, 0, 2, False, 40, 50))]) == []
    assert counted([torn]) == "1 torn transaction"


def test_aborted_records_are_no_half():
    aborted = TransactionScan(PAYMENTS)
    aborted.records(ONE, 0, 9, 1)
    aborted.marker(TransactionId(7, 4), 9, committed=False, is_copied=False)
    assert torn_transactions([scan(ORDERS, (ONE, 5, 0, True, 1, 9)), aborted]) == []


def test_a_marker_with_a_raised_epoch_ends_the_records_before_it():
    found = TransactionScan(ORDERS)
    found.records(ONE, 3, 0, 1)
    found.marker(NEXT, 2, committed=True, is_copied=True)
    assert [one.id for one in found.ended] == [ONE]
