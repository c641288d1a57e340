"""JDBC sink: records into tables of PostgreSQL and MySQL or MariaDB, exactly once."""
