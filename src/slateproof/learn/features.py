"""Item features as sparse rows: a bias, the difficulty among training users, and the tags.

A corpus' own d(i) counts every user's rows, held-out ones too: a learner that reads it has seen the answers it is tested on (on
corpora with few rows per item that alone lifts AUC by .2). Learners take ``training_difficulty``; d(i) stays the selector's input.

Scope: conditional; difficulties computed from protected responses are conditioned inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.corpora import Corpus
from slateproof.types.columns import Floats, Ints

__all__ = ["ItemFeatures", "item_features", "training_difficulty"]


@dataclass(frozen=True, slots=True, eq=False)
class ItemFeatures:
    """x_i in R^size, in CSR form: entries ``starts[i]`` to ``starts[i + 1]`` are (``index``, ``value``).

    Scope: that of the corpus.
    """

    starts: Ints
    index: Ints
    value: Floats
    size: int

    def dense(self) -> Floats:
        """Items x size."""
        out = np.zeros((self.starts.size - 1, self.size))
        out[np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts)), self.index] = self.value
        return out


def item_features(corpus: Corpus) -> ItemFeatures:
    """x_i = (1, training difficulty, tags), the tag part of unit length, or zero where an item has no tags."""
    items = corpus.items
    per_item = np.diff(items.tag_starts).astype(np.int64)
    starts = np.zeros(len(items) + 1, np.int64)
    np.cumsum(per_item + 2, out=starts[1:])
    index, value = np.zeros(starts[-1], np.int64), np.ones(starts[-1])
    index[starts[:-1] + 1] = 1
    value[starts[:-1] + 1] = training_difficulty(corpus)
    owner = np.repeat(np.arange(len(items)), per_item)
    # Tag number t of the corpus lands behind the two fixed entries of each item before it, and of its own.
    place = np.arange(items.tag_codes.size) + 2 * (owner + 1)
    index[place] = items.tag_codes.astype(np.int64) + 2
    value[place] = 1.0 / np.sqrt(per_item[owner])
    return ItemFeatures(starts, index, value, 2 + len(items.tag_names))


def training_difficulty(corpus: Corpus, train: Any = None) -> Floats:
    """1 - mean success among the training users, with one more row of the average success; a difficulty that was given stays.

    Success is the score/100 where the corpus' rule is "score", and yes or no elsewhere. An item that training did not see has the
    average. ``train`` (a mask over the rows) stands for the split's where a learner draws its training users itself.
    """
    if corpus.difficulty_rule == "given":
        return corpus.items.difficulty
    train = corpus.split().train if train is None else train
    success = corpus.response[train] / 100.0 if corpus.difficulty_rule == "score" else corpus.positive[train].astype(np.float64)
    item, items = corpus.item[train], len(corpus.items)
    total = np.bincount(item, success, items) + success.mean()
    return 1.0 - total / (np.bincount(item, minlength=items) + 1.0)
