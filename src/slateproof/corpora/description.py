"""A corpus in a few lines: counts, rules, filters, digest.

Scope: none; presentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slateproof.corpora.difficulty import RULES

if TYPE_CHECKING:
    from slateproof.corpora.corpus import Corpus, Filter

__all__ = ["Description", "describe"]


@dataclass(frozen=True, slots=True)
class Description:
    """What a corpus is, to print (``to_text``) or to keep (``to_dict``).

    Scope: none.
    """

    name: str
    synthetic: bool
    facts: dict[str, Any]
    filters: tuple[Filter, ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Aligned lines; a synthetic corpus says so in the first one."""
        head = f"{self.name}{' (synthetic: simulated responses, not observations)' if self.synthetic else ''}"
        width = max(map(len, self.facts))
        lines = [head, *(f"  {key:<{width}}  {_show(value)}" for key, value in self.facts.items())]
        lines.append("  filters" if self.filters else "  filters: none")
        return "\n".join([*lines, *(f"    {f.to_text()}" for f in self.filters), *(f"  note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """The same, for JSON."""
        return {
            "name": self.name,
            "synthetic": self.synthetic,
            **{key.replace(" ", "_"): value for key, value in self.facts.items()},
            "filters": [f.to_dict() for f in self.filters],
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def describe(corpus: Corpus) -> Description:
    """The description of a corpus; ``per_user`` quantiles are those of the number of interactions per user."""
    counts = np.diff(corpus.user_starts)
    d = corpus.items.difficulty
    facts: dict[str, Any] = {
        "interactions": len(corpus),
        "users": corpus.users,
        "items": len(corpus.items),
        "density per mille": round(corpus.density, 2),
        "interactions per user": round(corpus.per_user, 2),
        "median per user": float(np.median(counts)),
        "positive share": round(float(corpus.positive.mean()), 4),
        "positive rule": corpus.positive_rule,
        "difficulty rule": f"{corpus.difficulty_rule}: {RULES[corpus.difficulty_rule]}",
        "difficulty range": [round(float(d.min()), 4), round(float(d.mean()), 4), round(float(d.max()), 4)],
        "tags": len(corpus.items.tag_names),
        "skill of an item": corpus.skill_rule,
        "vectors": "none" if corpus.items.vectors is None else f"{corpus.items.vectors.shape[1]} numbers per item",
        "time": "none" if corpus.time is None else "yes",
        "malformed rows left out": corpus.bad_rows,
        "licence": corpus.licence,
        "digest": corpus.digest,
    }
    return Description(corpus.name, corpus.synthetic, facts, corpus.filters, corpus.notes)


def _show(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return " .. ".join(map(str, value)) if isinstance(value, list) else str(value)
