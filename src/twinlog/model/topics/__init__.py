"""Rules about target topics: configs, findings, deleted topics, differences."""
