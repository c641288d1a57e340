"""The steps of a switch, one file per kind; `recovery/execute` runs them in the order of the plan."""
