"""Public holidays as dates, from the `holidays` package. The API's side: the tick gets dates.

The dates of a country are resolved when a calendar is written, for the years named here; a named
calendar is resolved again whenever it is written again, and its jobs follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date

from cronce.domain.errors import Invalid

# An inline calendar lies in the job's row: this year and the next. A named one has its own row.
INLINE_YEARS = 2
NAMED_YEARS = 10
ACCEPTED = 'ISO 3166 codes, {"country": "DE", "subdivision": "BY"}'


def holidays_from(first_year: int, years: int) -> Callable[[str, str | None], Iterable[date]]:
    """What `parse_schedule` and `parse_calendar` take as `holidays`: (country, subdivision) ->
    dates of `years` years from `first_year` on. It raises Invalid for an unknown code, with
    pointers relative to the object that names them."""

    def resolve(country: str, subdivision: str | None) -> Iterable[date]:
        import holidays

        known = holidays.list_supported_countries()
        if country not in known:
            detail = f"{country[:20]!r} is not a country whose holidays are known"
            raise Invalid.one("/country", "unknown_country", detail, ACCEPTED)
        if subdivision is not None and subdivision not in known[country]:
            detail = f"{subdivision[:20]!r} is not a known subdivision of {country}"
            accepted = ", ".join(known[country]) or "no subdivision"
            raise Invalid.one("/subdivision", "unknown_subdivision", detail, accepted)
        span = range(first_year, first_year + years)
        return sorted(holidays.country_holidays(country, subdiv=subdivision, years=span))

    return resolve
