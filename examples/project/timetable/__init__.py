"""How long a train travels, from the times of its timetable."""

MINUTES_OF_AN_HOUR = 60


def minutes(clock: str) -> int:
    """Read ``"08:50"`` as minutes since midnight."""
    hours, _, rest = clock.partition(":")
    return int(hours) * MINUTES_OF_AN_HOUR + int(rest)


def travel_minutes(departure: str, arrival: str) -> int:
    """Return how many minutes pass between departure and arrival."""
    return minutes(arrival) - minutes(departure)
