"""The `lambda` target: `{"function": ARN}`, invoked once and waited for."""

from __future__ import annotations

from contextlib import closing

from cronce.targets.aws import READ_SLACK, classify
from cronce.targets.contract import Answer, Call, client_context, json_body, retried, succeeded
from cronce.targets.fields import arn, region_of
from cronce.targets.kinds import Config, Kind, Tools

READ_BYTES = 65536

FIELDS = {
    "function": arn(
        "lambda",
        r"function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9$_-]{1,128})?",
        about="The function, or a version or alias of it.",
    )
}


def resources(config: Config) -> list[tuple[str, str]]:
    return [("/function", config["function"])]


class LambdaTarget:
    """A function error is a failure that is retried, as a 5xx is.

    A slow function is waited for as long as the attempt lasts: were the connection given up
    before, the function would still run, and a second time for the next attempt.
    """

    def __init__(self, tools: Tools) -> None:
        self._clients = tools.clients

    def execute(self, call: Call) -> Answer:
        function = call.target["lambda"]["function"]
        try:
            client = self._clients("lambda", region_of(function), call.timeout + READ_SLACK)
            answered = client.invoke(
                FunctionName=function,
                InvocationType="RequestResponse",
                ClientContext=client_context(call),
                Payload=json_body(call).encode(),
            )
            with closing(answered["Payload"]) as stream:
                result = stream.read(READ_BYTES)
        except Exception as e:
            return classify(e)
        if answered.get("FunctionError"):
            return retried("function_error", result)
        return succeeded("invoked", result)


KIND = Kind(
    name="lambda",
    about="Invokes a function and waits for its end.",
    fields=FIELDS,
    resources=resources,
    build=LambdaTarget,
    payload_limit=6 * 1024 * 1024,
)
