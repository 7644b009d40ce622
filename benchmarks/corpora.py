"""How long the corpora take to load, and how much memory: each load in a process of its own.

    python -m benchmarks.corpora --data ../shared/data

Targets: OULAD under 2 s; 25 million ratings rows under 30 s and 3 GiB. Files other than OULAD's are synthetic, lie in a temporary
folder and are deleted; EdNet's format at the size of KT2 takes 3 GB there, and minutes to write (``--ednet-users``, ``--rows``: 0
leaves a load out). Peak memory is that of the whole process, Python and its libraries included; ``cpu_seconds`` are those of all
threads together. Writes ``benchmarks/results/corpora.json`` and the table of ``docs/corpora.md``; ``--page`` does only the latter.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks.marks import DOCS, RESULTS, put, read, table
from benchmarks.pages import machine_line
from benchmarks.timing import machine

RESULT = RESULTS / "corpora.json"
FULL = 296_701
"""Users of EdNet KT2 in the paper."""

_MEASURE = """
import json, resource, sys, time
from slateproof import corpora
start, busy = time.perf_counter(), time.process_time()
corpus = getattr(corpora, sys.argv[1])(sys.argv[2], **json.loads(sys.argv[3]))
seconds, busy = time.perf_counter() - start, time.process_time() - busy
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"corpus": corpus.label, "interactions": len(corpus), "users": corpus.users, "items": len(corpus.items),
                  "seconds": round(seconds, 2), "cpu_seconds": round(busy, 2),
                  "peak_gib": round(peak / 2**20, 3), "digest": corpus.digest}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real corpora")
    parser.add_argument("--rows", type=int, default=25_000_000)
    parser.add_argument("--ednet-users", type=int, default=FULL)
    parser.add_argument("--page", action="store_true", help="only write the committed table into the page")
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    if not asked.page:
        if asked.data is None:
            parser.error("--data names the folder of the corpora")
        result = {"command": " ".join(["python -m benchmarks.corpora", *sys.argv[1:]]), "machine": machine()}
        result["loads"] = list(loads(asked.data, asked.rows, asked.ednet_users))
        asked.out.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if asked.page or asked.out == RESULT:
        put(DOCS / "corpora.md", {"loads": loads_table(read("corpora"))})


def loads(data: Path, rows: int, ednet_users: int) -> Iterator[dict[str, Any]]:
    """One result per load; what was written for it is deleted before the next is written."""
    yield measure("OULAD", "load_oulad", data / "oulad", target_seconds=2.0)
    questions = data / "ednet" / "contents" / "questions.csv"
    yield measure("`ednet-surrogate` at the paper's size, simulated", "load_surrogate", questions, options={"users": FULL})
    if rows:
        with tempfile.TemporaryDirectory() as folder:
            write_ratings(Path(folder), rows)
            named = {"name": "synthetic-file-in-movielens-format"}
            targets = {"target_seconds": 30.0, "target_gib": 3.0}
            yield measure("a synthetic file in MovieLens' format", "load_movielens", folder, options=named, **targets)
            mapping = {"user": "userId", "item": "movieId", "response": "rating", "time": "timestamp"}
            as_table = {"positive_at": 4.0, "name": "the-same-file-as-a-table", **mapping}
            yield measure("the same file through `load_table`", "load_table", Path(folder) / "ratings.csv", options=as_table)
    if ednet_users:
        with tempfile.TemporaryDirectory() as folder:
            write_ednet(Path(folder), ednet_users)
            made = measure("synthetic files in EdNet KT2's format, one per user", "load_ednet", folder)
            yield made | {"corpus": "synthetic-files-in-ednet-kt2-format"}


def measure(what: str, loader: str, path: str | Path, options: dict[str, Any] | None = None, **targets: float) -> dict[str, Any]:
    """``loader`` on ``path`` in a new process."""
    words = [sys.executable, "-c", _MEASURE, loader, str(path), json.dumps(options or {})]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    result = {"what": what, "loader": loader, **json.loads(done.stdout), **targets}
    print(json.dumps(result), flush=True)
    return result


def loads_table(result: dict[str, Any]) -> str:
    """One line per load."""
    lines = []
    for one in result["loads"]:
        target = [f"{one['target_seconds']:g} s"] if "target_seconds" in one else []
        target += [f"{one['target_gib']:g} GiB"] if "target_gib" in one else []
        sizes = [f"{one[name]:,}" for name in ("interactions", "users", "items")]
        lines.append([one["what"], *sizes, f"{one['seconds']:.2f} s", f"{one['peak_gib']:.2f} GiB", ", ".join(target)])
    heads = ("load", "interactions", "users", "items", "time", "peak memory", "target")
    return f"{machine_line(result)}\n\n{table(heads, lines)}"


def write_ratings(folder: Path, rows: int) -> None:
    """MovieLens' format: users in order, each with a random number of ratings at random times."""
    rng = np.random.default_rng(1)
    users = max(3, rows // 154)
    weight = rng.lognormal(0.0, 1.2, users)
    with pacsv.CSVWriter(folder / "ratings.csv", _schema(), write_options=pacsv.WriteOptions(quoting_style="none")) as out:
        user = np.sort(rng.choice(users, rows, p=weight / weight.sum())) + 1
        for start in range(0, rows, 1_000_000):
            part = user[start : start + 1_000_000]
            columns = (
                part,
                (rng.random(part.size) ** 3 * 59_000).astype(np.int64) + 1,
                rng.integers(1, 11, part.size) / 2.0,
                rng.integers(789_652_009, 1_574_327_703, part.size),
            )
            out.write_table(pa.table([pa.array(c) for c in columns], schema=_schema()))
    lines = ["movieId,title,genres", *(f"{i},Film {i} (2000),Comedy|Drama" for i in range(1, 59_001))]
    (folder / "movies.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _schema() -> pa.Schema:
    return pa.schema([("userId", pa.int64()), ("movieId", pa.int64()), ("rating", pa.float64()), ("timestamp", pa.int64())])


def write_ednet(folder: Path, users: int) -> None:
    """EdNet's KT2 format: one file per user, three actions per answered question, 79 answers per user as in the paper."""
    rng = np.random.default_rng(2)
    (folder / "contents").mkdir()
    (folder / "KT2").mkdir()
    head = "question_id,bundle_id,explanation_id,correct_answer,part,tags,deployed_at"
    lines = [head, *(f"q{i},b{i},e{i},{'abcd'[i % 4]},{i % 7 + 1},{i % 180};{i % 7},1558093217098" for i in range(1, 13_170))]
    (folder / "contents" / "questions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for user in range(1, users + 1):
        answers = max(1, int(rng.lognormal(3.26, 1.5)))
        rows = ["timestamp,action_type,item_id,source,user_answer,platform"]
        for k, q in enumerate(rng.integers(1, 13_170, min(answers, 5_000)).tolist()):
            at = 1_565_096_151_269 + 60_000 * k
            rows += [
                f"{at},enter,b{q},sprint,,mobile",
                f"{at + 9},respond,q{q},sprint,{'abcd'[k % 4]},mobile",
                f"{at + 19},submit,b{q},sprint,,mobile",
            ]
        (folder / "KT2" / f"u{user}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
