"""Response models: four that differ, the artifact's as ``legacy``, and a registry by name.

Scope: none; simulated people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from slateproof.errors import InvalidInput
from slateproof.simulate.responses.contextual import ContextualZPD
from slateproof.simulate.responses.core import Core, Effect
from slateproof.simulate.responses.irt import IRT
from slateproof.simulate.responses.legacy import Legacy
from slateproof.simulate.responses.mirt import MIRT
from slateproof.simulate.responses.protocol import Response, ResponseModel, Shown, Start
from slateproof.simulate.responses.zpd import ZPD

__all__ = [
    "IRT",
    "MIRT",
    "MODELS",
    "ZPD",
    "ContextualZPD",
    "Core",
    "Effect",
    "Legacy",
    "Response",
    "ResponseModel",
    "Shown",
    "Start",
    "response_model",
]

MODELS: Mapping[str, type[Any]] = MappingProxyType({m.name: m for m in (IRT, MIRT, ZPD, ContextualZPD, Legacy)})
"""Every response model by name; a fifth of one's own is passed to the engine as a value and needs no entry here."""


def response_model(name: str, **parameters: Any) -> ResponseModel:
    """The model of a name with the given parameters; unknown names and parameters are refused, values out of range too."""
    if name not in MODELS:
        raise InvalidInput("models", f"must be among {', '.join(MODELS)}", name)
    known = [field.name for field in fields(MODELS[name])]
    for parameter in parameters:
        if parameter not in known:
            raise InvalidInput(f"parameters.{name}", f"has only {', '.join(known)}", parameter)
    try:
        made: ResponseModel = MODELS[name](**parameters)
    except InvalidInput as why:
        raise InvalidInput(f"parameters.{name}.{why.field}", why.rule, why.value, where=why.where) from why
    return made
