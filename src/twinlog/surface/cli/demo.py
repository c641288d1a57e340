"""`twinlog demo`: placeholder until the demo lands."""


def demo() -> None:
    """Show the main job on two local clusters."""
