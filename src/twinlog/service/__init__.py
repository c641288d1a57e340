"""The composition root: nothing below builds its own clients, nothing here decides.

Questions and actions load the rooms that they need when they run: a command that asks where groups stand must not wait
for Spark. `links` and `links_store` belong to a service; they are imported by their own names.

links        all links of one process, and Spark under them
control      what a service has beside its jobs: connectors, their past, reports
links_store  where links made over HTTP are kept, and who looks after them
questions    what is asked about a link, from anywhere
actions      what is done to a link by a command of its own
spark        the session that copies, verifies and rehearses
"""

from twinlog.service.actions import drills, forget_topic, switching, verify_link
from twinlog.service.questions import (
    examine_link,
    group_explanation,
    group_report,
    link_differences,
    living_engine,
    map_listing,
    observer,
    offset_resets,
    prepare_writers_topics,
    takeover_preview,
    topic_explanation,
    translate_position,
)
from twinlog.spark.place import SparkPlace, scratch_folder

__all__ = [
    "SparkPlace",
    "drills",
    "examine_link",
    "forget_topic",
    "group_explanation",
    "group_report",
    "link_differences",
    "living_engine",
    "map_listing",
    "observer",
    "offset_resets",
    "prepare_writers_topics",
    "scratch_folder",
    "switching",
    "takeover_preview",
    "topic_explanation",
    "translate_position",
    "verify_link",
]
