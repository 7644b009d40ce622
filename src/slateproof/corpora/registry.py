"""Which corpora there are, where their publishers keep them, and how each is opened.

Scope: none; nothing is redistributed, and a licence is the publisher's, not ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from slateproof.corpora import amazon, ednet, movielens, oulad
from slateproof.corpora.corpus import Corpus
from slateproof.corpora.settings import check_keys, hints_of, read_settings
from slateproof.corpora.surrogate import load_surrogate
from slateproof.corpora.synthetic import demo, synthetic_education, synthetic_ratings
from slateproof.corpora.table import load_table
from slateproof.corpora.tablefile import load_tablefile
from slateproof.errors import InvalidInput

__all__ = ["CORPORA", "Archive", "Entry", "Published", "entry", "load", "options_of"]


@dataclass(frozen=True, slots=True)
class Archive:
    """One file at a publisher's address, unpacked into ``folder`` (relative to the data folder).

    ``checksum`` is ``algorithm:hex`` of the publisher's whole file, or None where we know none: then a download is *unpinned*,
    and only its length, its kind and (for .zip) its inner checksums are tested. ``members`` are the file names to unpack; empty
    means all of them. A file that is not a .zip is kept as it is, under ``file``.

    Scope: none.
    """

    address: str
    folder: str
    file: str
    checksum: str | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """The counts that a complete corpus must have, and who states them; None where nobody does.

    Scope: none.
    """

    source: str
    interactions: int | None = None
    users: int | None = None
    items: int | None = None
    density: float | None = None
    per_user: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A corpus by name: what it is, its licence, its page, its archives, its needed paths, and its loader.

    ``needs`` are paths below the data folder, any one of each group; empty for a corpus that is generated. ``open`` takes the
    data folder and the loader's keyword arguments: those of ``loader``, but for the ``fixed`` ones.

    Scope: none.
    """

    name: str
    title: str
    licence: str
    open: Callable[..., Corpus]
    loader: Callable[..., Corpus]
    fixed: tuple[str, ...] = ("name",)
    page: str = ""
    archives: tuple[Archive, ...] = ()
    needs: tuple[tuple[str, ...], ...] = ()
    published: Published | None = None
    synthetic: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The names and types of what can be set."""
        return hints_of(self.loader, self.fixed)

    def missing(self, data: Path) -> tuple[str, ...]:
        """The needed paths that are not below ``data``."""
        return tuple(" or ".join(group) for group in self.needs if not any((data / p).exists() for p in group))


def entry(name: str) -> Entry:
    """The entry of a name; an unknown name is refused with the known ones."""
    if name not in CORPORA:
        raise InvalidInput("corpus", f"must be the .toml file of a table, or one of {', '.join(CORPORA)}", name)
    return CORPORA[name]


def load(name: str, data: str | Path | None = None, **options: Any) -> Corpus:
    """The corpus of a name from the data folder, or generated; ``options`` go to its loader.

    A name that ends in .toml is the file of a table of your own (``tablefile``), which takes no options.
    """
    if name.endswith(".toml") and not options:
        return load_tablefile(name)
    found = entry(name)
    check_keys(options, found.settings, name)
    how = f"`slateproof data fetch {name}` gets it" if found.archives else "nobody's address is known to fetch it from"
    if found.needs and data is None:
        raise InvalidInput("data", f"{name} is read from a data folder: name it (--data, or SLATEPROOF_DATA); {how}", data)
    folder = Path() if data is None else Path(data)
    if missing := found.missing(folder):
        raise InvalidInput("data", f"must hold {', '.join(missing)} for {name}; {how}", str(folder))
    return found.open(folder, **options)


def options_of(name: str, words: Iterable[str]) -> dict[str, Any]:
    """Keyword arguments of ``load`` from ``key=value`` words; those of a table stand in its .toml file."""
    words = list(words)
    if not name.endswith(".toml"):
        return read_settings(words, entry(name).settings, name)
    if words:
        raise InvalidInput("settings", "of a table stand in its .toml file", words[0], where=name)
    return {}


def _oulad(data: Path, **options: Any) -> Corpus:
    return oulad.load_oulad(data / "oulad", **options)


def _ednet(level: str, data: Path, **options: Any) -> Corpus:
    return ednet.load_ednet(data / "ednet", level=level, **options)


def _movielens(name: str, data: Path, **options: Any) -> Corpus:
    return movielens.load_movielens(data / name, name=name, **options)


def _amazon(name: str, files: tuple[str, ...], data: Path, **options: Any) -> Corpus:
    path = next(data / file for file in files if (data / file).exists())
    return amazon.load_amazon(path, name=name, **options)


def _assistments(data: Path, **options: Any) -> Corpus:
    mapping = {"user": "user_id", "item": "item_id", "response": "correct", "time": "position", "tags": "skill_id"}
    path = data / "assistments-2009" / "responses.csv"
    return load_table(path, **{**mapping, "name": "assistments-2009", "licence": _ASSISTMENTS, **options})


def _surrogate(data: Path, **options: Any) -> Corpus:
    return load_surrogate(data / "ednet" / "contents" / "questions.csv", **options)


def _generated(make: Callable[..., Corpus], data: Path, **options: Any) -> Corpus:
    return make(**options)


_ASSISTMENTS = "ASSISTments 2009-2010: research use (Feng, Heffernan, Koedinger 2009); a tidy table, not the publisher's file"
_COLUMNS = ("user", "item", "response", "time", "tags", "tag_separator", "difficulty_column", "name", "licence")
"""What the loader of a table takes, and the entry of a known one has settled."""

_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_SNAP = "https://snap.stanford.edu/data/amazon/productGraph/categoryFiles/"
_EDNET_PAGE = "https://github.com/riiid/ednet"
_CONTENTS = Archive(_DRIVE + "117aYJAWG3GU48suS66NPaB82HwFj6xWS", "ednet", "contents.zip")
_AMAZON = ("amazon/ratings_Musical_Instruments.csv",)
_AMAZON_5 = (
    "amazon/reviews_Musical_Instruments_5.json.gz",
    "amazon/reviews_Musical_Instruments_5.json",
    "amazon/ratings_Musical_Instruments_5.csv",
)


def _ednet_entry(level: str, address: str, published: Published | None) -> Entry:
    return Entry(
        f"ednet-{level.lower()}",
        f"EdNet {level}: answers of learners of English to multiple-choice questions",
        ednet.LICENCE,
        partial(_ednet, level),
        ednet.load_ednet,
        ("level",),
        _EDNET_PAGE,
        (Archive(address, "ednet", f"{level}.zip"), _CONTENTS),
        ((f"ednet/{level}",), ("ednet/contents/questions.csv",)),
        published,
    )


def _movielens_entry(name: str, title: str, files: tuple[str, ...], published: Published, md5: str) -> Entry:
    return Entry(
        name,
        title,
        movielens.LICENCE,
        partial(_movielens, name),
        movielens.load_movielens,
        ("name",),
        f"https://grouplens.org/datasets/movielens/{name.removeprefix('ml-')}/",
        (Archive(f"{_GROUPLENS}{name}.zip", name, f"{name}.zip", f"md5:{md5}", (*files, "README.txt", "README")),),
        tuple((f"{name}/{file}",) for file in files),
        published,
    )


def _entries() -> tuple[Entry, ...]:
    return (
        Entry(
            "oulad",
            "Open University Learning Analytics Dataset: scored assessments",
            oulad.LICENCE,
            _oulad,
            oulad.load_oulad,
            (),
            "https://analyse.kmi.open.ac.uk/open-dataset",
            (
                Archive(
                    "https://analyse.kmi.open.ac.uk/open-dataset/download",
                    "oulad",
                    "anonymisedData.zip",
                    members=("studentAssessment.csv", "assessments.csv", "courses.csv"),
                ),
            ),
            (("oulad/studentAssessment.csv",), ("oulad/assessments.csv",)),
            Published("the paper, corpus summary", 173_739, 23_351, 188, 39.58, 7.44),
        ),
        _ednet_entry("KT1", _DRIVE + "1AmGcOs5U31wIIqvthn9ARqJMrMTFTcaw", None),
        _ednet_entry(
            "KT2", "https://bit.ly/ednet-kt2", Published("the paper, corpus summary", 23_384_480, 296_701, 11_555, 6.82, 78.8)
        ),
        _ednet_entry("KT4", "https://bit.ly/ednet-kt4", None),
        _movielens_entry(
            "ml-25m",
            "MovieLens 25M: ratings and genres",
            ("ratings.csv", "movies.csv"),
            Published("the publisher's README", 25_000_095, 162_541),
            "6b51fb2759a8657d3bfcbfc42b592ada",
        ),
        _movielens_entry(
            "ml-1m",
            "MovieLens 1M: ratings and genres",
            ("ratings.dat", "movies.dat"),
            Published("the publisher's README", 1_000_209, 6_040),
            "c4d9eecfca2ab87c1945afe126590906",
        ),
        Entry(
            "amazon-musical-instruments",
            "Amazon ratings of musical instruments, 1996-2014",
            amazon.LICENCE,
            partial(_amazon, "amazon-musical-instruments", _AMAZON),
            amazon.load_amazon,
            ("name",),
            "https://snap.stanford.edu/data/amazon/productGraph/",
            (Archive(_SNAP + "ratings_Musical_Instruments.csv", "amazon", "ratings_Musical_Instruments.csv"),),
            (_AMAZON,),
            Published("the publisher's page", 500_176),
        ),
        Entry(
            "amazon-musical-instruments-5",
            "The same, 5-core: users and items with at least five reviews",
            amazon.LICENCE,
            partial(_amazon, "amazon-musical-instruments-5", _AMAZON_5),
            amazon.load_amazon,
            ("name",),
            "https://snap.stanford.edu/data/amazon/productGraph/",
            (Archive(_SNAP + "reviews_Musical_Instruments_5.json.gz", "amazon", "reviews_Musical_Instruments_5.json.gz"),),
            (_AMAZON_5,),
            Published("the publisher's page", 10_261),
        ),
        Entry(
            "assistments-2009",
            "ASSISTments 2009-2010: answers of school students, as a tidy table",
            _ASSISTMENTS,
            _assistments,
            load_table,
            _COLUMNS,
            needs=(("assistments-2009/responses.csv",),),
            published=Published("the README that came with the tidy table", 325_589, 4_150, 16_891),
        ),
        *_synthetic(),
    )


def _synthetic() -> tuple[Entry, ...]:
    own = "generated by slateproof; no restriction"
    return (
        Entry(
            "ednet-surrogate",
            "Simulated answers to the real EdNet questions, matched to the paper's aggregates",
            "questions: " + ednet.LICENCE,
            _surrogate,
            load_surrogate,
            (),
            _EDNET_PAGE,
            (_CONTENTS,),
            (("ednet/contents/questions.csv",),),
            Published("the paper's EdNet aggregates, which it is matched to", items=11_555, per_user=78.8),
            synthetic=True,
        ),
        Entry(
            "synthetic-education",
            "Rasch learners who learn",
            own,
            partial(_generated, synthetic_education),
            synthetic_education,
            synthetic=True,
        ),
        Entry(
            "synthetic-ratings",
            "Latent-factor ratings with genres",
            own,
            partial(_generated, synthetic_ratings),
            synthetic_ratings,
            synthetic=True,
        ),
        Entry("synthetic-demo", "The demo's small corpus", own, partial(_generated, demo), demo, synthetic=True),
    )


CORPORA: Mapping[str, Entry] = MappingProxyType({e.name: e for e in _entries()})
"""Every corpus by name."""
