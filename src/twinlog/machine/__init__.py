"""What this computer offers: folders, a Java runtime, the token of the local user."""
