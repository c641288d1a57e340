"""Change data capture from MySQL and MariaDB."""
