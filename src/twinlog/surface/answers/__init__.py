"""The shapes of answers, once: for the JSON of the command line, /v1, the page and the metrics. Unknown is null."""
