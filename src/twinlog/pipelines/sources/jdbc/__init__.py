"""JDBC source: tables and queries of PostgreSQL and MySQL or MariaDB, by polling."""
