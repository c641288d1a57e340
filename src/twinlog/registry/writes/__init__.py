"""What the leader does with an order to write: from the state and the order to records and an answer. Pure."""
