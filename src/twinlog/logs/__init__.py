"""A topic as a log or as a table: used by all code that stores something in Kafka.

    in an asyncio loop (over wire/)                    in threads (over kafka/)
    ensure.py   create, wait until known, check configs (blocking, for both)
    append.py   LogWriter: until acknowledged          background.py  BackgroundWriter: acknowledged by a callback
    read.py     read_to_end: all that is there now     elect.py       Election: one member of a group may lead
    follow.py   follow: what comes, for ever           elected.py     ElectedLog: all read, the elected member writes
    table.py    LogTable: the newest value of a key

A write ends in one of two ways: the broker acknowledged it, or an error names the topic. Nothing is dropped silently.
"""
