"""Options and arguments that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="1 to 128 of A-Z a-z 0-9 . _ -")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Such as 20261130T013000Z-k3f9a2qd")]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")]
File = Annotated[
    str, typer.Argument(metavar="FILE", help="A JSON document; - reads standard input.")
]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="At most this many.")]
