"""Rules about the health of a link: state, exposure, objectives, history, events."""
