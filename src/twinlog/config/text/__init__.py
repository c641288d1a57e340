"""The text of a settings file: properties, providers, precedence, kinds of values, and the tables of keys."""
