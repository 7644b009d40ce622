"""Our knowledge tracers against pykt-toolkit's and pyBKT's, on assistments-2009, with one split and one set of answers.

    python -m venv PEER && PEER/bin/pip install torch==2.13.0 pykt-toolkit==0.0.38
    python -m venv BKT && BKT/bin/pip install pyBKT==1.4.3 "scikit-learn<1.5" "pandas<2.3" "numpy<2"
    python -m benchmarks.learner_peers --data ../shared/data --pykt PEER/bin/python --pybkt BKT/bin/python

Split: the corpus' own, by user. DKT and SAKT read windows of 100 answers by skill, without our item terms (the published models);
the test AUC counts every answer of the test users but the first of a window, which pykt-toolkit does not predict. Width, heads,
dropout, batch and learning rate are the same; each side stops as it does by default, after 40 epochs at most. pyBKT fits a skill
from one random start (it is plain Python: one start of all skills takes minutes); both predict each answer of the test users from
those before it. Writes ``benchmarks/results/learner_peers.json`` after every model, does not measure again what stands there for
the same arrays, and writes the tables of ``docs/learners.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import learners_page
from benchmarks.marks import RESULTS
from benchmarks.timing import machine
from slateproof import corpora
from slateproof.corpora import Corpus
from slateproof.learn.bkt import BKT, skills
from slateproof.learn.dkt import DKT
from slateproof.learn.metrics import auc
from slateproof.learn.modelfile import package_versions
from slateproof.learn.protocol import Context, Feedback
from slateproof.learn.sakt import SAKT
from slateproof.learn.sequence_data import windows_of
from slateproof.learn.sequence_train import next_answers

RESULT = RESULTS / "learner_peers.json"
PEER = Path(__file__).with_name("learner_peers_run.py")
WINDOW, EPOCHS = 100, 40
COMMAND = "python -m benchmarks.learner_peers --data ../shared/data --pykt PEER/bin/python --pybkt BKT/bin/python"


def ask_peer(python: str, what: str, arrays: dict[str, Any], seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, **arrays)
        done = subprocess.run([python, "-P", str(PEER), what, str(file), str(seed)], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return dict(json.loads(done.stdout))


def network(corpus: Corpus, made: Any, seed: int) -> float:
    """Test AUC of one of our networks, over the answers that pykt-toolkit predicts."""
    windows = windows_of(corpus, corpus.split().part == 2, WINDOW)
    chances = next_answers(made.fit(corpus, seed=seed).network, windows)
    counted = windows.items >= 0
    counted[:, 0] = False
    return auc(windows.labels[counted] > 0.5, chances[counted])


def for_pykt(corpus: Corpus, made: Any) -> dict[str, Any]:
    skill, count = skills(corpus)
    out: dict[str, Any] = {"skills": count, "window": WINDOW, "epochs": EPOCHS, "heads": getattr(made, "heads", 1)}
    out |= {name: getattr(made, name) for name in ("width", "batch", "learning_rate")}
    for which, part in enumerate(("train", "valid", "test")):
        windows = windows_of(corpus, corpus.split().part == which, WINDOW)
        out[f"{part}_skill"] = np.where(windows.items >= 0, skill[windows.items], -1)
        out[f"{part}_label"] = windows.labels
    return out


def networks(corpus: Corpus, python: str, seeds: list[int], rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One row per model and seed that ``rows`` does not hold for the same arrays; ours with item terms stands beside."""
    for seed in seeds:
        for made in (DKT(item_terms=False), SAKT(item_terms=False)):
            arrays = for_pykt(corpus, made)
            key = {"model": made.name, "seed": seed, "arrays": digest_of(arrays)}
            if any(key.items() <= row.items() for row in rows):
                continue
            full, ours = network(corpus, type(made)(), seed), network(corpus, made, seed)
            row = key | {"slateproof": ours, "item_terms": full, "peer": ask_peer(python, made.name, arrays, seed)}
            print(
                f"{made.name} seed {seed}: AUC {ours:.4f}, pykt-toolkit {row['peer']['auc']:.4f}, ours with item terms {full:.4f}",
                flush=True,
            )
            yield row


def digest_of(arrays: dict[str, Any]) -> str:
    """SHA-256 of what a peer is given, in name order."""
    return hashlib.sha256(b"".join(name.encode() + np.asarray(arrays[name]).tobytes() for name in sorted(arrays))).hexdigest()


def traced(corpus: Corpus) -> tuple[Any, Any]:
    """Fitted parameters per skill, and P(correct) of every row of the test users, each from the rows before it."""
    scorer, split = BKT(fitted=True).fit(corpus), corpus.split()
    users = np.flatnonzero(split.part == 2)
    context = Context.new(users.size)
    first, length = corpus.user_starts[users], np.diff(corpus.user_starts)[users]
    chances, session = np.zeros(len(corpus)), scorer.begin(context, 0)
    for place in range(int(length.max())):
        there = place < length
        row = np.where(there, first + place, 0)
        items = corpus.item[row].astype(np.int64)[:, None]
        chances[row[there]] = scorer.score(session, context, items).scores[there, 0]
        shown = np.where(there[:, None], items, -1)
        session = scorer.update(session, context, Feedback(shown, there[:, None], (there & corpus.positive[row])[:, None]))
    return scorer._parameters, chances[split.test]


def tracing(corpus: Corpus, python: str, seed: int, before: dict[str, Any]) -> dict[str, Any]:
    """Our EM and pyBKT's, or what stands in ``before`` for the same arrays."""
    skill, _ = skills(corpus)
    split = corpus.split()
    rows = {"train": split.train, "test": split.test}
    arrays = {f"{part}_user_id": corpus.user[mask] for part, mask in rows.items()}
    arrays |= {f"{part}_skill_name": skill[corpus.item[mask]] for part, mask in rows.items()}
    arrays |= {f"{part}_correct": corpus.positive[mask].astype(np.int64) for part, mask in rows.items()}
    key = {"model": "bkt-em", "seed": seed, "arrays": digest_of(arrays)}
    if key.items() <= before.items():
        return before
    theirs = ask_peer(python, "bkt", arrays, seed)
    ours, chances = traced(corpus)
    fitted = np.array([[p["prior"], p["learns"], p["slips"], p["guesses"]] for p in theirs["parameters"].values()])
    mine = ours[[int(name) for name in theirs["parameters"]]]
    positive = corpus.positive[split.test]
    free = (fitted[:, 2:] < 0.5).all(axis=1)  # ours bounds slip and guess by one half
    gap = np.abs(mine - fitted)
    result = key | {
        "skills": int(free.size),
        "skills where pyBKT's slip and guess are below .5": int(free.sum()),
        "median difference of (initial, transit, slip, guess) there": np.median(gap[free], axis=0).tolist(),
        "slateproof": auc(positive, chances),
        "peer": {"auc": auc(positive, np.array(theirs["chances"])), "pyBKT": theirs["pyBKT"]},
    }
    print(f"bkt-em: AUC {result['slateproof']:.4f}, pyBKT {result['peer']['auc']:.4f}", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pykt", help="a Python that has pykt-toolkit")
    parser.add_argument("--pybkt", help="a Python that has pyBKT")
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 43, 44])
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    corpus = corpora.load("assistments-2009", asked.data)
    result = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    result |= {"corpus": corpus.label, "digest": corpus.digest, "versions": package_versions("jax", "equinox", "optax")}
    result |= {"machine": machine(), "command": COMMAND}
    if asked.pybkt:
        result["bkt"] = tracing(corpus, asked.pybkt, asked.seeds[0], result.get("bkt", {}))
        save(asked.out, result)
    if asked.pykt:
        rows = result.setdefault("sequences", [])
        for row in networks(corpus, asked.pykt, asked.seeds, rows):
            rows[:] = [one for one in rows if (one["model"], one["seed"]) != (row["model"], row["seed"])] + [row]
            save(asked.out, result)
    if asked.out == RESULT:
        learners_page.write()


def save(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
