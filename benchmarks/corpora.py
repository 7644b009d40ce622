"""How long the corpora take to load, and how much memory: each load in a process of its own.

    python -m benchmarks.corpora --data ../shared/data

Targets: OULAD under 2 s; 25 million ratings rows under 30 s and 3 GiB. The other files are synthetic, lie in a temporary folder and
are deleted. Without ``--data`` OULAD and the surrogate, which need real files, are left out. Peak memory is that of the whole
process, Python and its libraries included; ``cpu_seconds`` are those of all threads together. Writes
``benchmarks/results/corpora.json``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks.timing import machine

RESULT = Path(__file__).parent / "results" / "corpora.json"
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
    parser.add_argument("--ednet-users", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    loads, before = [], machine()
    if args.data is not None:
        loads.append(measure("load_oulad", args.data / "oulad"))
        loads.append(measure("load_surrogate", args.data / "ednet" / "contents" / "questions.csv", users=FULL))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if args.rows:
            write_ratings(folder, args.rows)
            loads.append(measure("load_movielens", folder, name="synthetic-file-in-movielens-format"))
            mapping = {"user": "userId", "item": "movieId", "response": "rating", "time": "timestamp"}
            loads.append(measure("load_table", folder / "ratings.csv", positive_at=4.0, name="the-same-file-as-a-table", **mapping))
            (folder / "ratings.csv").unlink()
        if args.ednet_users:
            write_ednet(folder, args.ednet_users)
            loads.append({**measure("load_ednet", folder), "corpus": "synthetic-files-in-ednet-kt2-format"})
    result = {"machine": before, "loads": loads}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def measure(loader: str, path: str | Path, **options: str | float) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, loader, str(path), json.dumps(options)], check=True, capture_output=True, text=True
    )
    result = json.loads(done.stdout)
    print(json.dumps(result), flush=True)
    return result


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
    """EdNet's KT2 format: one file per user; three actions per answered question."""
    rng = np.random.default_rng(2)
    (folder / "contents").mkdir()
    (folder / "KT2").mkdir()
    head = "question_id,bundle_id,explanation_id,correct_answer,part,tags,deployed_at"
    lines = [head, *(f"q{i},b{i},e{i},{'abcd'[i % 4]},{i % 7 + 1},{i % 180};{i % 7},1558093217098" for i in range(1, 13_170))]
    (folder / "contents" / "questions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for user in range(1, users + 1):
        answers = max(1, int(rng.lognormal(3.2, 1.5)))
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
