"""Zones come from the bundled data only, and eras lose none of their transitions."""

import os
import struct
import subprocess
import sys
from importlib import import_module, resources
from itertools import pairwise
from random import Random

import pytest

from cronce.domain.eras import DAY, eras_of
from cronce.domain.errors import Unplannable
from cronce.domain.zones import check_zone, load_zone, tzdata_version, zone_keys


def test_every_listed_key_loads():
    keys = zone_keys()
    assert len(keys) > 590
    for key in keys:
        assert load_zone(key).key == key
    assert {"UTC", "Europe/Kiev", "Etc/GMT+5", "EST", "America/Argentina/Ushuaia"} <= keys
    assert not keys & {"Factory", "localtime", "posixrules"}


def test_the_version_is_the_one_of_the_data():
    assert tzdata_version() == import_module("tzdata").IANA_VERSION
    assert tzdata_version()[:4].isdigit()


@pytest.mark.parametrize("key", ["localtime", "../UTC", "/etc/localtime", "Europe", "", "x" * 9999])
def test_what_is_not_listed_opens_no_file(key):
    with pytest.raises(Unplannable):
        load_zone(key)


def test_a_listed_key_is_returned_as_it_is():
    assert check_zone("Europe/Kiev") == "Europe/Kiev"


def transitions(key: str) -> list[int]:
    """Changes of the offset since 1970 as the data file lists them (RFC 8536, version 2)."""
    data = resources.files("tzdata").joinpath("zoneinfo", *key.split("/")).read_bytes()

    def header(at: int) -> tuple[int, ...]:
        return struct.unpack(">4sc15x6l", data[at : at + 44])[2:]

    isut, isstd, leap, count, types, chars = header(0)
    at = 44 + count * 5 + types * 6 + chars + leap * 8 + isstd + isut
    count, types = header(at)[3:5]
    at += 44
    instants = struct.unpack(f">{count}q", data[at : at + 8 * count])
    kinds = data[at + 8 * count : at + 9 * count]
    rest = data[at + 9 * count :]
    offsets = [struct.unpack(">l", rest[6 * i : 6 * i + 4])[0] for i in range(types)]
    return [
        instant
        for instant, kind, earlier in zip(instants[1:], kinds[1:], kinds, strict=False)
        if offsets[kind] != offsets[earlier] and instant >= 0
    ]


def test_no_zone_changes_twice_within_a_day_so_that_looking_daily_finds_all():
    closest = min(
        later - earlier for key in zone_keys() for earlier, later in pairwise(transitions(key))
    )
    assert closest > DAY


def test_eras_end_exactly_where_the_data_says():
    rng = Random(5)
    seen = 0
    for key in rng.sample(sorted(zone_keys()), 120):
        for instant in transitions(key)[-30:]:
            after, before = eras_of(key).at(instant), eras_of(key).at(instant - 1)
            assert after.start == instant == before.end
            assert (after.before, before.after) == (before.offset, after.offset)
            seen += 1
    assert seen > 1_000


def test_eras_follow_one_another_without_a_hole():
    eras, at = eras_of("Africa/Casablanca"), 1_700_000_000
    for _ in range(60):
        era = eras.at(at)
        assert era.start <= at < era.end
        assert eras.at(era.end).start == era.end
        assert eras.offset(era.end - 1) == era.offset
        at = era.end


SCRIPT = """
from datetime import datetime, UTC
from cronce.domain.schedule import parse_schedule
for document in ("30 1 * * *", {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}):
    schedule = parse_schedule(document, now=datetime(2026, 3, 28, tzinfo=UTC))
    at = datetime(2026, 3, 28, 12, tzinfo=UTC)
    for _ in range(3):
        at = schedule.next_after(at)
        print(at.isoformat())
"""


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/New_York"])
def test_the_hosts_zone_and_zone_files_have_no_say(zone, tmp_path):
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(
        resources.files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes()
    )
    environment = os.environ | {"TZ": zone, "PYTHONTZPATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [
        "2026-03-29T01:30:00+00:00", "2026-03-30T01:30:00+00:00", "2026-03-31T01:30:00+00:00",
        "2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00", "2026-03-31T00:30:00+00:00",
    ]  # fmt: skip
