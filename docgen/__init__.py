"""Reference pages made from the code, and the check that documents name nothing that does not exist."""
