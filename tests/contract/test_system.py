"""Clock, threads and entropy of the machine, and their stand-ins."""

import subprocess
import sys
import threading
from datetime import UTC, timedelta

import pytest

from cronce.adapters.system import SystemClock, SystemRandom, SystemThreads
from cronce.domain.identity import UID
from cronce.ports import Random, Threads
from cronce.testing.clock import SettableClock, SkewedClock
from cronce.testing.random import SeededRandom
from cronce.testing.threads import InlineThreads
from support.stores import NOW


@pytest.fixture(params=[SystemThreads, InlineThreads])
def threads(request: pytest.FixtureRequest) -> Threads:
    return request.param()  # type: ignore[no-any-return]


class TestEachAndStart:
    def test_results_come_in_the_order_of_the_items(self, threads: Threads) -> None:
        assert threads.each(lambda n: n * n, range(100)) == [n * n for n in range(100)]
        assert threads.each(lambda n: n, []) == []

    def test_first_error_is_raised_after_all_have_ended(self, threads: Threads) -> None:
        done: list[int] = []

        def work(n: int) -> None:
            if n in (3, 7):
                raise ValueError(n)
            done.append(n)

        with pytest.raises(ValueError, match="3"):
            threads.each(work, range(40))
        assert len(done) == 38

    def test_started_work_has_a_result(self, threads: Threads) -> None:
        task = threads.start(lambda: 42)
        assert task.wait(30)
        assert task.result() == 42

    def test_or_raises_what_it_raised(self, threads: Threads) -> None:
        def fail() -> None:
            raise KeyError("no")

        task = threads.start(fail)
        assert task.wait(30)
        with pytest.raises(KeyError):
            task.result()


class TestSystemThreads:
    def test_run_at_the_same_time(self) -> None:
        gate = threading.Barrier(4)
        assert sorted(SystemThreads().each(lambda n: gate.wait(30), range(4))) == [0, 1, 2, 3]

    def test_are_bounded(self) -> None:
        running, most, lock = 0, 0, threading.Lock()

        def work(_: int) -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            threading.Event().wait(0.001)
            with lock:
                running -= 1

        SystemThreads(width=3).each(work, range(30))
        assert 1 <= most <= 3

    def test_what_hangs_can_be_left(self) -> None:
        never = threading.Event()
        task = SystemThreads().start(never.wait)
        assert not task.wait(0.01)
        never.set()
        assert task.wait(30)

    def test_what_hangs_does_not_keep_the_process(self) -> None:
        code = (
            "import threading; from cronce.adapters.system import SystemThreads;"
            "SystemThreads().start(threading.Event().wait); print('ended')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout == "ended\n"


@pytest.fixture(params=[SystemRandom, SeededRandom])
def entropy(request: pytest.FixtureRequest) -> Random:
    return request.param()  # type: ignore[no-any-return]


def test_draws(entropy: Random) -> None:
    tokens = {entropy.token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(len(t) >= 22 for t in tokens)
    uids = {entropy.uid() for _ in range(1000)}
    assert len(uids) == 1000
    assert all(UID.fullmatch(u) for u in uids)
    fractions = [entropy.fraction() for _ in range(1000)]
    assert all(0 <= f <= 1 for f in fractions)
    assert min(fractions) < 0.1 < 0.9 < max(fractions)


def test_same_seed_same_draws() -> None:
    def draws(seed: int) -> list[object]:
        r = SeededRandom(seed)
        return [r.token(), r.uid(), r.fraction()]

    assert draws(7) == draws(7) != draws(8)


def test_clock_of_the_machine_is_in_utc_and_goes_on() -> None:
    clock = SystemClock()
    before = clock.now()
    clock.sleep(-1)
    clock.sleep(0.002)
    assert before.tzinfo is UTC
    assert clock.now() - before >= timedelta(milliseconds=2)


def test_settable_clock_moves_when_told() -> None:
    clock = SettableClock(NOW)
    clock.sleep(1.5)
    assert clock.now() == NOW + timedelta(seconds=1.5)
    clock.sleep(-3)
    clock.set(NOW)
    assert clock.now() == NOW
    ahead = SkewedClock(clock, 5)
    ahead.sleep(2)
    assert (clock.now(), ahead.now()) == (NOW + timedelta(seconds=2), NOW + timedelta(seconds=7))


def test_store_and_queue_in_memory_need_no_aws() -> None:
    """Users test their jobs with them, and have no boto3 for that."""
    code = (
        "import sys, cronce.testing.memory;"
        "print([m for m in sys.modules if m.split('.')[0] in ('boto3', 'botocore')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
