"""What slateproof refuses, and how it says so.

Every refusal names the field, the rule, and the offending value or id, so that the person who reads it can act. A refused
input changes nothing: no log, no state, no output file.

Scope: none; errors carry no claim.
"""

from __future__ import annotations

__all__ = ["InvalidInput", "SlateproofError", "SlateproofWarning"]


class SlateproofError(Exception):
    """Base of every error that slateproof raises on purpose."""


class SlateproofWarning(UserWarning):
    """Something lawful that a careful person would want to know about."""


class InvalidInput(SlateproofError, ValueError):
    """An input that breaks a rule.

    ``field`` names the input (``"scores"``), ``rule`` says what it must be (``"must be finite"``), ``value`` is the offending
    value and ``where`` its place (an item id, a row, a position), when there is one. ``field``, ``rule``, ``value`` and
    ``where`` are attributes, and the message spells them out.
    """

    def __init__(self, field: str, rule: str, value: object = None, *, where: object = None) -> None:
        self.field = field
        self.rule = rule
        self.value = value
        self.where = where
        message = f"{field}: {rule}"
        if value is not None:
            message += f" (got {value!r}"
            message += ")" if where is None else f" at {where!r})"
        elif where is not None:
            message += f" (at {where!r})"
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.field, self.rule, self.value, self.where))


def _rebuild(kind: type[InvalidInput], field: str, rule: str, value: object, where: object) -> InvalidInput:
    """Unpickle an error: worker processes raise it across a process border."""
    return kind(field, rule, value, where=where)
