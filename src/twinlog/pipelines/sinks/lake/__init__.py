"""Tables of a lake, Iceberg and Delta: rows and positions in one commit of the table."""
