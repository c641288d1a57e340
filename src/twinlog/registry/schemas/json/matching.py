"""The largest matching between two groups: each member has at most one partner."""


def most_pairs(partners: list[list[int]]) -> int:
    """How many members of the left group can have a partner at once; `partners` are the possible ones of each."""
    taken: dict[int, int] = {}
    return sum(_place(left, partners, taken) for left in range(len(partners)))


def _place(left: int, partners: list[list[int]], taken: dict[int, int]) -> bool:
    """Finds a partner for `left`; others may have to change theirs. Breadth first, without recursion."""
    came_from: dict[int, tuple[int, int | None]] = {}
    waiting: list[tuple[int, int | None]] = [(left, None)]
    for member, through in waiting:
        for right in partners[member]:
            if right in came_from:
                continue
            came_from[right] = (member, through)
            if right in taken:
                waiting.append((taken[right], right))
                continue
            free: int | None = right
            while free is not None:
                owner, before = came_from[free]
                taken[free] = owner
                free = before
            return True
    return False
