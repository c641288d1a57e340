"""What all sources with Debezium's record shape share."""
