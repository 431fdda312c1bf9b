"""The misfire policy as users write it and as the row keeps it."""

from decimal import Decimal

import pytest

from cronce.domain.errors import Invalid, Unplannable
from cronce.domain.misfire import Misfire, parse_misfire


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, Misfire()),
        ("skip", Misfire("skip")),
        ({"policy": "run_once", "grace": "2m"}, Misfire(grace=120)),
        ({"late_limit": "1h"}, Misfire(late_limit=3600)),
        ({"policy": "run_all", "window": "6h", "cap": 5}, Misfire("run_all", window=21_600, cap=5)),
        ({"grace": 75}, Misfire(grace=75)),
        ({"grace": 1000}, Misfire(grace=1000, late_limit=1000)),
    ],
)
def test_what_is_written_is_read_and_survives_both_forms(written, read):
    misfire = parse_misfire(written)
    assert misfire == read
    assert Misfire.from_plan(misfire.to_plan()) == misfire
    assert parse_misfire(misfire.to_document()) == misfire


def test_the_defaults_take_no_room_in_the_row():
    assert Misfire().to_plan() == {}
    assert Misfire().to_document() == "run_once"


def test_run_all_is_bounded_without_a_window():
    assert parse_misfire("run_all").window_seconds == 86_400


@pytest.mark.parametrize(
    ("written", "pointer"),
    [
        ("sometimes", "/misfire/policy"),
        (5, "/misfire"),
        ([], "/misfire"),
        ({"policy": None}, "/misfire/policy"),
        ({"grace": 74}, "/misfire/grace"),
        ({"grace": "1s"}, "/misfire/grace"),
        ({"grace": "2d"}, "/misfire/grace"),
        ({"grace": True}, "/misfire/grace"),
        ({"late_limit": 30}, "/misfire/late_limit"),
        ({"policy": "skip", "window": "1h"}, "/misfire/window"),
        ({"cap": 5}, "/misfire/cap"),
        ({"policy": "run_all", "cap": 0}, "/misfire/cap"),
        ({"policy": "run_all", "cap": True}, "/misfire/cap"),
        ({"policy": "run_all", "window": "500d"}, "/misfire/window"),
        ({"policy": "run_all", "window": 10}, "/misfire/window"),
        ({"polizy": "skip"}, "/misfire/polizy"),
    ],
)
def test_what_is_refused_names_its_field(written, pointer):
    with pytest.raises(Invalid) as refused:
        parse_misfire(written)
    assert [fault.pointer for fault in refused.value.faults] == [pointer]
    assert refused.value.faults[0].accepted


def test_b44_a_grace_below_the_rhythm_of_the_tick_is_refused_with_the_reason():
    with pytest.raises(Invalid, match=r"on-time runs would be missed.*accepted: 75 to 86400"):
        parse_misfire({"grace": "1s"})


def test_every_fault_is_told_at_once():
    with pytest.raises(Invalid) as refused:
        parse_misfire({"policy": "x", "grace": 1, "cap": "many"}, "/m")
    assert len(refused.value.faults) == 3


@pytest.mark.parametrize(
    "stored", [None, [], "skip", {"policy": "x"}, {"cap": Decimal("1.5")}, {"grace": [1]}]
)
def test_a_broken_row_is_unplannable(stored):
    with pytest.raises(Unplannable):
        Misfire.from_plan(stored)


def test_the_tables_numbers_are_read():
    stored = {"policy": "run_all", "grace": Decimal(120), "cap": Decimal(7)}
    assert Misfire.from_plan(stored) == Misfire("run_all", grace=120, cap=7)
