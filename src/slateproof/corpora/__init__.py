"""Corpora: the publishers' original files, any table, and synthetic stand-ins, as one typed result.

>>> from slateproof import corpora
>>> corpus = corpora.load("synthetic-demo")
>>> corpus
Corpus('synthetic-demo (synthetic)', 3,600 interactions, 120 users, 150 items)

Scope: none; data carries no claim. Item difficulties computed from protected responses are *conditioned* selector inputs.
"""

from slateproof.corpora.amazon import load_amazon
from slateproof.corpora.compare import CheckReport, CheckRow, check
from slateproof.corpora.corpus import Corpus, Filter, Items
from slateproof.corpora.description import Description, describe
from slateproof.corpora.download import Fetched, FetchError, Progress, fetch, licence_notice
from slateproof.corpora.ednet import load_ednet
from slateproof.corpora.listing import Listing, list_corpora
from slateproof.corpora.movielens import load_movielens
from slateproof.corpora.oulad import load_oulad
from slateproof.corpora.registry import CORPORA, Archive, Entry, Published, entry, load, options_of
from slateproof.corpora.split import Split
from slateproof.corpora.surrogate import load_surrogate
from slateproof.corpora.synthetic import demo, synthetic_education, synthetic_ratings
from slateproof.corpora.table import load_table
from slateproof.corpora.tablefile import load_tablefile, tablefile_text
from slateproof.errors import InvalidInput

__all__ = [
    "CORPORA",
    "Archive",
    "CheckReport",
    "CheckRow",
    "Corpus",
    "Description",
    "Entry",
    "FetchError",
    "Fetched",
    "Filter",
    "InvalidInput",
    "Items",
    "Listing",
    "Progress",
    "Published",
    "Split",
    "check",
    "demo",
    "describe",
    "entry",
    "fetch",
    "licence_notice",
    "list_corpora",
    "load",
    "load_amazon",
    "load_ednet",
    "load_movielens",
    "load_oulad",
    "load_surrogate",
    "load_table",
    "load_tablefile",
    "options_of",
    "synthetic_education",
    "synthetic_ratings",
    "tablefile_text",
]
