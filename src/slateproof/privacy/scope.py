"""A verdict as a value: what may be claimed, at which figure, and why; with the two ways to show it.

Scope: this *is* the scope.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Literal, TypeAlias

from slateproof.privacy.status import Status
from slateproof.privacy.users import UserLevel

__all__ = ["Regime", "Scope"]

Regime: TypeAlias = Literal["end-to-end", "conditional", "anchored"]

_FORMAT = "slateproof scope 1"


@dataclass(frozen=True, slots=True)
class Scope:
    """The privacy scope of a pipeline.

    ``regime`` is "end-to-end", "conditional" or "anchored". ``epsilon`` and ``delta`` are the composed budget at ``unit`` and
    ``neighbouring``; both are None where there is no figure to state: always when anchored, and when conditional with no
    private release at all. ``user_level`` is None without a cap. ``unprotected`` names the inputs that the claim leaves out.
    ``because`` has one line per declared input, ``improve`` what the next better regime needs, ``notes`` the rest;
    ``conditions`` is the ledger's.

    Claims are ordered by what they leave out first, by epsilon second: an epsilon compares with another one only where
    ``unprotected`` is the same.

    Scope: the claim of the pipeline, as far as the declarations are true and the ledger holds everything that ran.
    """

    regime: Regime
    epsilon: float | None
    delta: float | None
    user_level: UserLevel | None
    unit: str
    neighbouring: str
    inputs: tuple[tuple[str, Status], ...]
    unprotected: tuple[str, ...]
    because: tuple[str, ...]
    improve: tuple[str, ...]
    notes: tuple[str, ...]
    releases: tuple[str, ...]
    ledger_digest: str | None
    conditions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, figures unrounded."""
        return {
            "format": _FORMAT,
            "regime": self.regime,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "user_level": None if self.user_level is None else self.user_level.to_dict(),
            "unit": self.unit,
            "neighbouring": self.neighbouring,
            "inputs": {name: status.to_dict() for name, status in self.inputs},
            "unprotected": list(self.unprotected),
            "because": list(self.because),
            "improve": list(self.improve),
            "notes": list(self.notes),
            "releases": list(self.releases),
            "ledger": self.ledger_digest,
            **({"conditions": list(self.conditions)} if self.conditions else {}),
        }

    def to_text(self) -> str:
        """The verdict as a person reads it. Figures are rounded up, to four digits."""
        blocks = [
            f"Regime      {self.regime}\nClaim       {self._claim()}\nUser level  {self._user_claim()}",
            _block("Releases that ran", self.releases or ("none recorded",)),
            _table("Inputs", self.because),
        ]
        if self.improve:
            blocks.append(_table(f"For the next better regime ({self._next()})", self.improve))
        if self.notes:
            blocks.append(_block("Notes", self.notes))
        return "\n\n".join(blocks) + "\n"

    def _claim(self) -> str:
        if self.regime == "anchored":
            return "no differential privacy claim; margins and certificates still speak of stability"
        if self.epsilon is None or self.delta is None:
            return f"no figure: no private release is recorded, and nothing protects {', '.join(self.unprotected)}"
        figure = f"{_figure(self.epsilon, self.delta)} per {self.unit}, {self.neighbouring}"
        if self.regime == "end-to-end":
            return f"slates and traces are {figure}"
        return f"{figure}, only given {', '.join(self.unprotected)}, which it does not protect"

    def _next(self) -> str:
        """The regime that is left when the weakest inputs are mended."""
        kinds = {status.kind for _, status in self.inputs}
        soft = "conditioned" in kinds or ("dp-output" in kinds and (self.ledger_digest is None or bool(self.conditions)))
        return "conditional" if self.regime == "anchored" and soft else "end-to-end"

    def _user_claim(self) -> str:
        level = self.user_level
        if level is None:
            return "none" if self.epsilon is None else "none: no cap on rounds per user was stated"
        if level.max_rounds_per_user is None:
            return f"{_figure(level.epsilon, level.delta)}: the claim itself, as the unit of the ledger is the user"
        if level.delta >= 1.0:
            return f"none: lifted over {level.max_rounds_per_user} rounds, delta reaches 1"
        given = ", under the same condition" if self.unprotected else ""
        return f"{_figure(level.epsilon, level.delta)}, if at most {level.max_rounds_per_user} rounds of each user were used{given}"


def _block(title: str, lines: tuple[str, ...]) -> str:
    wrapped = (textwrap.fill(line, 110, initial_indent="  - ", subsequent_indent="    ") for line in lines)
    return "\n".join([title, *wrapped])


def _table(title: str, lines: tuple[str, ...]) -> str:
    """Lines of the form "name: text", the texts in one column."""
    parts = [line.split(": ", 1) for line in lines]
    wide = max(len(name) for name, _ in parts) + 2
    indent = " " * (2 + wide)
    wrapped = (textwrap.fill(text, 110, initial_indent=f"  {name:{wide}}", subsequent_indent=indent) for name, text in parts)
    return "\n".join([title, *wrapped])


def _figure(epsilon: float, delta: float) -> str:
    return f"(ε = {_up(epsilon)}, δ = {_up(delta)})-DP"


def _up(value: float) -> str:
    """Four significant digits, rounded up: a printed budget is never smaller than the computed one.

    Digits beyond the twelfth are rounding noise of a sum (1e-5 is not a binary number) and do not count.
    """
    return f"{float(Context(prec=4, rounding=ROUND_CEILING).create_decimal(Decimal(f'{value:.12g}'))):.4g}"
