"""What the timetable promises."""

import unittest

from timetable import travel_minutes


class TravelMinutes(unittest.TestCase):
    """How long a train travels."""

    def test_within_a_day(self) -> None:
        self.assertEqual(travel_minutes("08:50", "10:05"), 75)

    def test_no_time_at_all(self) -> None:
        self.assertEqual(travel_minutes("08:50", "08:50"), 0)

    def test_past_midnight(self) -> None:
        self.assertEqual(travel_minutes("23:50", "00:10"), 20)


if __name__ == "__main__":
    unittest.main()
