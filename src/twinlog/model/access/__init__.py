"""Rules about ACLs, SCRAM users and quotas."""
