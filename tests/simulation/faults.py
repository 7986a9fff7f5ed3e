"""Which faults a simulated world has, and how often: drawn once a seed, and ended as one."""

from dataclasses import dataclass, fields

from tests.simulation.chance import Chance


@dataclass
class Faults:
    """Probabilities a message, call or pass, and mean times between; 0 is never."""

    wake_lost: float = 0.0
    wake_doubled: float = 0.0
    wake_delayed: float = 0.0
    call_delayed: float = 0.0
    answer_lost: float = 0.0
    lookup_unknown: float = 0.0
    crash_at_commit: float = 0.0
    crash_at_act: float = 0.0
    crash_at_reply: float = 0.0
    kill_every_steps: float = 0.0
    kill_all_every_s: float = 0.0
    stall_every_s: float = 0.0
    disk_full_every_s: float = 0.0
    slow_commit: float = 0.0
    clock_jump_every_s: float = 0.0
    second_supervisor_every_s: float = 0.0
    head_moved_every_s: float = 0.0
    agent_killed: float = 0.0
    cancel: float = 0.0

    @classmethod
    def drawn(cls, chance: Chance) -> "Faults":
        """Draw each kind: absent in about half of the worlds, else anything up to its worst."""
        hour = 3600.0

        def up_to(worst: float) -> float:
            return chance.uniform(0.0, worst) if chance.happens(0.5) else 0.0

        def every(least: float, most: float) -> float:
            return chance.spread(least, most) if chance.happens(0.4) else 0.0

        return cls(
            wake_lost=up_to(0.5),
            wake_doubled=up_to(0.5),
            wake_delayed=up_to(0.5),
            call_delayed=up_to(0.3),
            answer_lost=up_to(0.3),
            lookup_unknown=up_to(0.1),
            crash_at_commit=up_to(0.05),
            crash_at_act=up_to(0.1),
            crash_at_reply=up_to(0.05),
            kill_every_steps=every(500, 50_000),
            kill_all_every_s=every(hour, 100 * hour),
            stall_every_s=every(hour, 100 * hour),
            disk_full_every_s=every(hour, 50 * hour),
            slow_commit=up_to(0.1),
            clock_jump_every_s=every(hour, 50 * hour),
            second_supervisor_every_s=every(hour, 50 * hour),
            head_moved_every_s=every(3 * hour, 30 * hour),
            agent_killed=up_to(0.3),
            cancel=up_to(0.3),
        )

    def end(self) -> None:
        """Let no more faults happen."""
        for each in fields(self):
            setattr(self, each.name, 0.0)
