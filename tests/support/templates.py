"""Reading CloudFormation templates: resources by type, and who is granted what."""

from typing import Any

Template = dict[str, Any]


def of_type(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """Logical id → properties of every resource of a type."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def functions(template: Template) -> dict[str, dict[str, Any]]:
    """`api`, `dispatcher`, `worker` → properties; of several dispatchers the last one."""
    return {
        function["Handler"].split(".")[2]: function
        for function in of_type(template, "AWS::Lambda::Function").values()
    }


def shown(value: Any) -> str:
    """A resource of a statement as text: references by logical id, without hashes' noise."""
    if isinstance(value, str):
        return value
    if "Fn::GetAtt" in value:
        return ".".join(value["Fn::GetAtt"])
    if "Ref" in value:
        return str(value["Ref"])
    return "".join(shown(part) for part in value["Fn::Join"][1])


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements_of(template: Template, function: str) -> list[dict[str, Any]]:
    """All statements of the policies of a function's role."""
    role = functions(template)[function]["Role"]["Fn::GetAtt"][0]
    return [
        statement
        for policy in of_type(template, "AWS::IAM::Policy").values()
        if {"Ref": role} in policy["Roles"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def grants_of(template: Template, function: str) -> dict[str, set[str]]:
    """Resource → actions, for one function; all effects are Allow or this fails."""
    granted: dict[str, set[str]] = {}
    for statement in statements_of(template, function):
        assert statement["Effect"] == "Allow"
        for resource in as_list(statement["Resource"]):
            granted.setdefault(shown(resource), set()).update(as_list(statement["Action"]))
    return granted
