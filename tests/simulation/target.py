"""What the jobs call: it succeeds, fails, hangs, kills its worker, or takes its time."""

from __future__ import annotations

from cronce.domain.identity import parse_run_id
from cronce.targets.contract import Answer, Call, refused, retried, succeeded, timed_out

from .faults import Faults
from .history import History
from .kernel import Kernel, Process

# Of 100 attempts each; the rest succeeds at once. `long` takes up to its timeout; `stall` freezes
# its whole process for longer than the lease and then goes on as if nothing had been.
FATES = {
    "quick": (0, 0, 0, 0, 0, 0, 0, 0),
    "mixed": (10, 3, 2, 3, 2, 2, 8, 5),
    "failing": (60, 5, 10, 3, 0, 5, 2, 2),
    "steady": (0, 0, 0, 0, 0, 0, 100, 0),
    "slow": (0, 0, 0, 0, 0, 0, 85, 5),
    "deadly": (5, 0, 0, 5, 40, 2, 5, 15),
}
WAYS = ("fail", "refuse", "wait", "hang", "kill", "raise", "long", "stall")


class SimulatedTarget:
    """The target of one worker process."""

    def __init__(self, kernel: Kernel, faults: Faults, history: History, process: Process) -> None:
        self._kernel, self._faults = kernel, faults
        self._history, self._process = history, process

    def execute(self, call: Call) -> Answer:
        key = parse_run_id(call.job_id, call.run_id)
        assert key is not None
        answer: Answer = self._faults.call(
            self._process,
            "target.execute",
            lambda: self._effect(call, str(call.target["simulated"]["fate"])),
        )
        return answer

    def _effect(self, call: Call, fate: str) -> Answer:
        key = parse_run_id(call.job_id, call.run_id)
        assert key is not None
        self._history.executed(key, call.attempt)
        way = self._way(fate)
        rng, pause = self._kernel.rng, self._kernel.pause
        pause(int(rng.random() * (400 if way != "long" else 1000 * call.timeout)))
        if way == "stall":
            self._process.wounded = True
            self._kernel.freeze(self._process, 31_000 + int(rng.random() * 40_000))
            pause(10)
        if way == "fail":
            return retried("http_503", "simulated")
        if way == "refuse":
            return refused("http_400", "simulated")
        if way == "wait":
            return retried("http_429", "simulated", retry_after=rng.choice((5, 1200)))
        if way == "hang":
            if rng.random() < 0.5:
                pause(int(1000 * call.timeout))
                return timed_out("simulated")
            pause(86_400_000)
        if way == "kill":
            self._process.wounded = True
            self._faults.crash(self._process)
        if way == "raise":
            raise RuntimeError("simulated")
        return succeeded("http_200")

    def _way(self, fate: str) -> str:
        lot = self._kernel.rng.randrange(100) if self._faults.active else 100
        for way, share in zip(WAYS, FATES[fate], strict=True):
            lot -= share
            if lot < 0:
                return way
        return "succeed"
