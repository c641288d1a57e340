"""The service over HTTP: Connect's REST, our own API, metrics and the page. Parses, calls and renders."""
