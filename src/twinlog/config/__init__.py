"""What the user wrote: properties files, the settings they resolve to, and secrets."""
