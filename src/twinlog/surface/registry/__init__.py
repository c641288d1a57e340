"""The schema registry over HTTP: Confluent's paths, codes and conventions."""
