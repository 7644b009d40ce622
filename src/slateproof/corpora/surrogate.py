"""``ednet-surrogate``: simulated answers to EdNet's real questions, for whoever has not got the real answers.

Real: the question ids, their part and their skills. Simulated: everything else, by the Rasch model with learning of
``synthetic``, with item difficulties that share a third of their variance through part and skills. Matched to the paper's
corpus table: 11,555 items answered, 78.8 answers per user. Defaults of ours, where the paper states nothing: the lognormal tail
(sd of the log 1.5) and a share of right answers of .66.

Scope: none; synthetic, and called so wherever it appears.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.build import Raw, build, check_count
from slateproof.corpora.columns import Ints
from slateproof.corpora.corpus import Corpus
from slateproof.corpora.ednet import LICENCE, SKILL_RULE, read_questions
from slateproof.corpora.synthetic import answers, counts_per_user, draw_items, rasch_difficulties
from slateproof.errors import InvalidInput

__all__ = ["load_surrogate"]

ITEMS, PER_USER = 11_555, 78.8
"""The paper's number of items and answers per user."""


def load_surrogate(
    questions: str | Path,
    *,
    users: int = 10_000,
    items: int = ITEMS,
    per_user: float = PER_USER,
    tail: float = 1.5,
    correct_share: float = 0.66,
    popularity: float = 0.5,
    seed: int = 42,
) -> Corpus:
    """A corpus on the questions of ``questions.csv``. The paper's full size is ``users=296_701``.

    ``items`` questions are drawn without replacement and each is answered at least once, where there are enough rows.
    """
    table = read_questions(Path(questions), BadRows())
    if check_count(items, "items") > len(table.ids):
        raise InvalidInput("items", f"must be at most the {len(table.ids):,} questions of the file", items)
    rng = np.random.default_rng(seed)
    chosen = np.sort(np.array(table.ids))[np.sort(rng.choice(len(table.ids), items, replace=False))]
    b = rasch_difficulties(_tag_rows([table.tags[i] for i in chosen.tolist()]), rng)
    counts = counts_per_user(check_count(users, "users", 3), per_user, tail, rng)
    user = np.repeat(np.arange(users, dtype=np.int32), counts)
    item = draw_items(int(user.size), items, popularity, rng)
    correct = answers(user, counts, item, b, correct_share, rng)
    names = np.array([f"synthetic{i:0{len(str(users))}d}" for i in range(1, users + 1)])
    return build(
        Raw(user, names, item, chosen, correct.astype(np.float64), correct),
        name="ednet-surrogate",
        licence="questions: " + LICENCE,
        difficulty_rule="success-rescaled",
        positive_rule="answer is right (simulated)",
        tags=table.tags,
        skills=table.skills,
        skill_rule=SKILL_RULE,
        synthetic=True,
    )


def _tag_rows(tags: list[list[str]]) -> Ints:
    """Tag codes as a rectangle, rows filled up by repeating their tags, so that a row's mean stays close to that of its tags."""
    code = {tag: c for c, tag in enumerate(sorted({tag for row in tags for tag in row}))}
    width = max(map(len, tags))
    return np.array([[code[row[k % len(row)]] for k in range(width)] for row in tags])
