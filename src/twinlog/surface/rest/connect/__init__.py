"""Kafka Connect's REST interface over the links of this service: paths, status codes and bodies as Connect has them."""
