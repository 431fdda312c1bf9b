"""Random schedules, each built around one operator of the language; what it holds is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
NUMERIC = (
    "*", "value", "list", "range", "equal range", "range/step", "wrapped range",
    "wrapped range/step", "*/step", "n/step",
)  # fmt: skip
DAY = ("L", "L-n", "LW", "nW", "?")
WEEKDAY = ("n#k", "nL", "L weekday", "name", "name range", "sunday as 7", "? weekday")
MONTH = ("month name",)
FORMS = ("macro", "aws", "aws year", "seconds", "day and weekday")
OPTIONS = (
    "gap next", "gap skip", "overlap first", "overlap second", "overlap both",
    "calendar skip", "calendar next_business_day", "calendar previous_business_day",
    "start and end",
)  # fmt: skip
OPERATORS = NUMERIC + DAY + WEEKDAY + MONTH + FORMS + OPTIONS
_LIMITS = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12)}
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


@dataclass
class Drawn:
    """A schedule document without its zone, and what the walker needs to know about it."""

    document: dict[str, object]
    operators: Counter[str]
    seconds: bool = False
    gap: str | None = None
    overlap: str | None = None
    dates: frozenset[date] = frozenset()
    weekends: bool = False
    on_excluded: str = ""
    windowed: bool = False

    def excluded(self) -> Callable[[date], bool] | None:
        if not self.on_excluded:
            return None
        return lambda day: day in self.dates or (self.weekends and day.isoweekday() > 5)


@dataclass
class Draw:
    """Draws one schedule. near: a local date that the schedule should have a chance to name."""

    rng: Random
    near: date
    seen: Counter[str] = field(default_factory=Counter)
    aws: bool = False

    def schedule(self, operator: str, weekday: str, option: str) -> Drawn:
        """operator: of DAY, MONTH, FORMS or NUMERIC. weekday: of WEEKDAY or empty. option: of
        OPTIONS or empty."""
        if operator == "macro":
            self.seen[operator] += 1
            drawn = Drawn({"cron": self.rng.choice(_MACROS)}, self.seen)
        else:
            drawn = self._expression(operator, weekday)
        self._options(drawn, option)
        return drawn

    def _expression(self, operator: str, weekday: str) -> Drawn:
        rng = self.rng
        self.aws = operator in ("aws", "aws year") or (
            operator not in ("seconds", "day and weekday", "L-n")
            and weekday == ""
            and rng.random() < 0.15
        )
        seconds = operator == "seconds" or (not self.aws and rng.random() < 0.04)
        fields = {name: self._numeric(name) for name in ("minute", "hour", "month")}
        fields["day"] = fields["weekday"] = "*"
        if rng.random() < 0.35:
            fields["day"] = self._days()
        if weekday and not (self.aws and operator in DAY):
            fields["weekday"] = self._weekdays(weekday)
        elif weekday or rng.random() < 0.2:
            fields["weekday"] = self._weekdays()
        if rng.random() < 0.65:
            fields["month"] = "*"
        if operator in NUMERIC:
            name = rng.choice(("minute", "minute", "hour", "hour", "day", "month", "weekday"))
            if name == "weekday":
                fields[name] = self._weekday_numeric(operator)
            else:
                fields[name] = self._numeric(name, operator)
        elif operator in DAY:
            fields["day"] = self._days(operator)
        elif operator in MONTH:
            fields["month"] = self._month_name()
        elif operator == "day and weekday":
            fields["day"] = self._days(rng.choice(("value", "list", "nW", "L", "*/step")))
            fields["weekday"] = self._weekdays(rng.choice(("n#k", "nL", "name", "value")))
        if seconds:
            self.seen["seconds"] += 1
        text = self._text(fields, seconds, operator)
        if text.split()[-1] not in ("*", "?") and fields["day"] not in ("*", "?") and not self.aws:
            self.seen["day and weekday"] += 1
        document: dict[str, object] = {"cron": text}
        if seconds:
            document["seconds"] = True
        return Drawn(document, self.seen, seconds=seconds)

    def _text(self, fields: dict[str, str], seconds: bool, operator: str) -> str:
        if self.aws:
            if fields["day"] in ("*", "?") and fields["weekday"] not in ("*", "?"):
                fields["day"] = "?"
            else:
                fields["weekday"] = "?"
                fields["day"] = "*" if fields["day"] == "?" else fields["day"]
            year = self._year() if operator == "aws year" else "*"
            self.seen["aws"] += 1
            names = ("minute", "hour", "day", "month", "weekday")
            return f"cron({' '.join(fields[n] for n in names)} {year})"
        text = " ".join(fields[n] for n in ("minute", "hour", "day", "month", "weekday"))
        return f"{self._numeric('second', rare=True)} {text}" if seconds else text

    def _year(self) -> str:
        self.seen["aws year"] += 1
        year, rng = self.near.year, self.rng
        return rng.choice(
            (str(year), f"{year - 1}-{year + 1}", f"{year},{year + 2}", f"{max(1970, year - 4)}/2")
        )

    def _numeric(self, name: str, operator: str | None = None, *, rare: bool = False) -> str:
        rng = self.rng
        low, high = _LIMITS[name]
        if operator is None:
            operator = rng.choice(("value", "value", "list") if rare else NUMERIC)
        self.seen[operator] += 1
        pick = self._picker(name, low, high)
        return _write(rng, operator, low, high, pick, aws=self.aws)

    def _picker(self, name: str, low: int, high: int) -> Callable[[], int]:
        """Values that have a chance to meet a transition: small hours, round minutes, the day."""
        rng = self.rng
        likely: tuple[int, ...] = {
            "hour": (0, 1, 2, 3),
            "minute": (0, 15, 30, 45),
            "day": (self.near.day, max(1, self.near.day - 1), min(31, self.near.day + 1)),
            "month": (self.near.month,),
        }.get(name, ())
        return lambda: (
            rng.choice(likely) if likely and rng.random() < 0.6 else rng.randint(low, high)
        )

    def _days(self, operator: str | None = None) -> str:
        rng = self.rng
        operator = operator or rng.choice(NUMERIC[1:] + DAY[:4])
        if self.aws and operator == "L-n":
            operator = "L"
        if operator in NUMERIC:
            return self._numeric("day", operator)
        self.seen[operator] += 1
        text = {
            "?": "?",
            "L": "L",
            "LW": "LW",
            "L-n": f"L-{rng.randint(1, 30)}",
            "nW": f"{rng.choice((self.near.day, rng.randint(1, 31)))}W",
        }[operator]
        if not self.aws and text != "?" and rng.random() < 0.3:
            self.seen["list"] += 1
            text += f",{rng.randint(1, 31)}"
        return text

    def _weekdays(self, operator: str | None = None) -> str:
        rng = self.rng
        operator = operator or rng.choice((*WEEKDAY[:5], "value", "list", "range"))
        if operator in NUMERIC:
            return self._weekday_numeric(operator)
        if self.aws and operator == "sunday as 7":
            operator = "name"
        self.seen[operator] += 1
        low = 1 if self.aws else 0
        day = rng.choice((str(rng.randint(low, low + 6)), rng.choice(WEEKDAYS)))
        text = {
            "? weekday": "?",
            "L weekday": "L",
            "nL": f"{day}L",
            "n#k": f"{day}#{rng.randint(1, 5)}",
            "name": rng.choice((rng.choice(WEEKDAYS), rng.choice(WEEKDAYS).lower())),
            "name range": f"{rng.choice(WEEKDAYS)}-{rng.choice(WEEKDAYS)}",
            "sunday as 7": rng.choice(("7", f"{rng.randint(0, 7)}-7", f"7-{rng.randint(0, 7)}")),
        }[operator]
        if not self.aws and text != "?" and rng.random() < 0.3:
            self.seen["list"] += 1
            text += f",{rng.randint(0, 7)}"
        return text

    def _weekday_numeric(self, operator: str) -> str:
        if self.aws and "step" in operator:
            operator = "range"
        self.seen[operator] += 1
        low = 1 if self.aws else 0
        rng = self.rng
        return _write(rng, operator, low, low + 6, lambda: rng.randint(low, low + 6), aws=self.aws)

    def _month_name(self) -> str:
        self.seen["month name"] += 1
        name = self.rng.choice((MONTHS[self.near.month - 1], self.rng.choice(MONTHS)))
        return self.rng.choice((name, name.lower(), f"{name}-{self.rng.choice(MONTHS)}"))

    def _options(self, drawn: Drawn, operator: str) -> None:
        rng = self.rng
        if operator.startswith("gap") or rng.random() < 0.12:
            drawn.gap = operator[4:] if operator.startswith("gap") else rng.choice(("next", "skip"))
            self.seen[f"gap {drawn.gap}"] += 1
        if operator.startswith("overlap") or rng.random() < 0.12:
            words = ("first", "second", "both")
            drawn.overlap = operator[8:] if operator.startswith("overlap") else rng.choice(words)
            self.seen[f"overlap {drawn.overlap}"] += 1
        if dst := {k: v for k, v in (("gap", drawn.gap), ("overlap", drawn.overlap)) if v}:
            drawn.document["dst"] = dst
        if operator.startswith("calendar") or rng.random() < 0.05:
            self._calendar(drawn, operator)
        drawn.windowed = operator == "start and end" or rng.random() < 0.05
        if drawn.windowed:
            self.seen["start and end"] += 1

    def _calendar(self, drawn: Drawn, operator: str) -> None:
        rng = self.rng
        words = ("skip", "next_business_day", "previous_business_day")
        drawn.on_excluded = operator[9:] if operator.startswith("calendar") else rng.choice(words)
        drawn.weekends = rng.random() < 0.6
        drawn.dates = frozenset(
            self.near + timedelta(days=rng.randint(-8, 8)) for _ in range(rng.randint(1, 8))
        )
        self.seen[f"calendar {drawn.on_excluded}"] += 1
        drawn.document["calendar"] = {
            "exclude": {
                "dates": sorted(d.isoformat() for d in drawn.dates),
                "weekends": drawn.weekends,
            },
            "on_excluded": drawn.on_excluded,
        }


def _write(
    rng: Random, operator: str, low: int, high: int, pick: Callable[[], int], *, aws: bool
) -> str:
    size = high - low + 1
    step = rng.randint(1, min(size - 1, rng.choice((3, 7, size))))
    a, b = sorted((pick(), rng.randint(low, high)))
    if operator.startswith("wrapped") and a == b:
        a, b = low, high
    return {
        "*": "*",
        "value": str(pick()),
        "list": ",".join(str(pick()) for _ in range(rng.randint(2, 4))),
        "range": f"{a}-{b}",
        "equal range": f"{a}-{a}",
        "range/step": f"{a}-{b}/{step}",
        "wrapped range": f"{b}-{a}",
        "wrapped range/step": f"{b}-{a}/{step}",
        "*/step": f"*/{step}",
        "n/step": f"{pick()}/{step}",
    }[operator]
