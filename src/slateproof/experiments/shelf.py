"""The corpora at hand: loaded when first asked for, kept, and never replaced by anything else.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from slateproof.corpora import CORPORA, Corpus, load
from slateproof.experiments.signature import of_files

__all__ = ["Shelf"]

T = TypeVar("T")


class Shelf:
    """Corpora of one data folder, by name (and loader options).

    Scope: none.
    """

    def __init__(self, data: Path | None) -> None:
        self.data = data
        self._loaded: dict[tuple[str, tuple[tuple[str, Any], ...]], Corpus] = {}
        self._made: dict[tuple[Any, ...], Any] = {}

    def missing(self, name: str) -> str | None:
        """Why a corpus cannot be loaded; None if it can."""
        entry = CORPORA[name]
        if not entry.needs:
            return None
        if self.data is None:
            return f"{name}: no data folder given"
        lacking = entry.missing(self.data)
        return f"{name}: not in the data folder ({', '.join(lacking)})" if lacking else None

    def split(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(those that are here, why the others are not)."""
        reasons = {name: self.missing(name) for name in names}
        return tuple(n for n in names if reasons[n] is None), tuple(why for why in reasons.values() if why is not None)

    def get(self, name: str, **options: Any) -> Corpus:
        """The corpus, loaded once per set of options."""
        key = (name, tuple(sorted(options.items())))
        if key not in self._loaded:
            self._loaded[key] = load(name, self.data, **options)
        return self._loaded[key]

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """``make()``, called once per key: work on the corpora that several experiments of one run share."""
        if key not in self._made:
            self._made[key] = make()
        return cast(T, self._made[key])

    def digest(self, name: str) -> str | None:
        """SHA-256 over the corpus' files (None if it is missing): what a cached result must have been made from.

        A generated corpus depends on the code alone, which has its own digest.
        """
        if self.missing(name) is not None:
            return None
        if self.data is None or not CORPORA[name].needs:
            return "generated"
        folder = self.data
        paths = [folder / path for group in CORPORA[name].needs for path in group if (folder / path).exists()]
        return of_files(folder, paths)
