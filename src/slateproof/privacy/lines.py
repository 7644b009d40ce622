"""The sentences of a verdict: for every input, what its status means, when the declaration is true, and what would better it.

Scope: none; words for what ``assess`` decides.
"""

from __future__ import annotations

from slateproof.privacy.status import Kind, Status

__all__ = ["INPUTS", "better", "meaning"]

INPUTS: tuple[str, ...] = ("scores", "candidates", "targets", "similarity", "widths", "state", "shown", "anchor")
"""Everything that the selector reads. Levers are not an input of their own: constants are public, lever maps read the state."""

_MEANING: dict[Kind, str] = {
    "public": "independent of the protected data, costs nothing",
    "dp-output": "post-processing of the ledger's releases, whose cost is counted once",
    "accounted": "released by a DP mechanism of its own, its budget is added",
    "conditioned": "fixed by conditioning, the figure does NOT protect the responses behind it",
    "non-private": "computed from protected data without a DP mechanism, no end-to-end claim survives it",
}

_ONLY_IF: dict[tuple[str, Kind], str] = {
    ("scores", "public"): "true only if no protected interaction trained the scorer",
    ("scores", "dp-output"): "true only if the scorer is a fixed function of the released parameters",
    ("candidates", "public"): "true only if retrieval read no protected interaction; popularity and history filters do",
    ("candidates", "dp-output"): "true only if retrieval ran on released outputs, without filtering on the user's history",
    ("targets", "public"): "true only if d(i) was not computed from protected responses; if it was, it is conditioned",
    ("targets", "dp-output"): "true only if d(i) comes from a recorded private release, not from the responses",
    ("similarity", "public"): "true only if vectors, matrix or tags were not learnt from protected interactions",
    ("widths", "public"): "true only if the widths depend on no protected counts",
    ("widths", "dp-output"): "true only if the widths come from the released parameters, not from raw counts",
    ("state", "public"): "true only for a fixed state; k-hat and e-hat computed from responses are conditioned",
    (
        "state",
        "dp-output",
    ): "true only if k-hat and e-hat come from released outputs; summaries of raw responses are not post-processing",
    ("shown", "public"): "true only for an empty or fixed memory; what was shown depends on every earlier input",
    ("shown", "dp-output"): "true only if every earlier slate was made under these statuses, by recorded releases",
    ("anchor", "public"): "true only if the anchor was trained on other data",
}

_BETTER: dict[str, str] = {
    "scores": "train the scorer with a DP learner that writes the ledger, and declare dp-output",
    "candidates": "retrieve from a public or fixed catalogue, or from released outputs, without history filters",
    "targets": "take d(i) from a public source, or release it by the Gaussian mechanism on per-item counts, as accounted",
    "similarity": "use content vectors or tags, or vectors of the released model",
    "widths": "derive the widths from the released parameters, or leave them out",
    "state": "fix the levers, or release k-hat and e-hat by a continual-counting mechanism, as accounted",
    "shown": "make every earlier slate end-to-end private, or run without novelty memory",
    "anchor": "leave the anchor out, train it on public data, or train it with DP and declare accounted",
}


def meaning(name: str, status: Status) -> str:
    """One line for an input whose declaration is taken at its word."""
    budget = f" (ε {status.epsilon:g}, δ {status.delta:g})" if status.kind == "accounted" else ""
    caveat = _ONLY_IF.get((name, status.kind))
    return f"{name}: {status.kind}{budget}: {_MEANING[status.kind]}" + (f"; {caveat}" if caveat else "")


def better(name: str) -> str:
    """What would lift this input to a status that can support an end-to-end claim."""
    return f"{name}: {_BETTER[name]}"
