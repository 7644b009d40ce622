"""Selection against pyversity's MMR and LangChain's `maximal_marginal_relevance`, on the same inputs in the same run.

    python -m benchmarks.select            writes benchmarks/results/select.json and prints the tables

pyversity's and LangChain's lists differ from ours (other normalisations, no target or novelty terms, no margins, no trace); the
comparison is of what it costs to get a diverse list of K out of n candidates. Scores are standard normal, vectors random unit
rows, diversity .3, all synthetic.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from numba import njit
from pyversity import Strategy, diversify

import slateproof as sp
from benchmarks.timing import machine, medians
from slateproof.certify import certify_batch
from slateproof.select import target_of
from slateproof.select.kernels import greedy
from slateproof.select.lanes import LANES, eight_dots
from slateproof.select.run import NO_RANKS, scratch
from slateproof.types import StateBatch

RESULTS = Path(__file__).parent / "results" / "select.json"
HEADLINE = ((100, 48, 8), (1_000, 64, 10), (10_000, 64, 20))
GOALS = {"one": (8, 6, 5), "one_with_catalog": (4, 4, 4), "batch": (40, 15, 10)}
DIVERSITY = 0.3


def inputs(n: int, d: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    vectors = sp.unit(rng.normal(size=(n, d)))
    facts = {"targets": rng.uniform(size=n), "widths": rng.uniform(size=n)}
    return {"vectors": vectors, "scores": rng.normal(size=n), "query": sp.unit(rng.normal(size=(1, d)))[0], **facts}


QUICK = {"seconds": 0.3, "repeats": 5}
"""For grids of many cases, LangChain's seconds among them."""


def single(n: int, d: int, k: int, *, langchain: bool, **timing: Any) -> dict[str, float]:
    """Seconds per list, one call at a time."""
    data = inputs(n, d)
    ids = np.arange(n)
    pool = sp.Pool(ids, data["scores"], data["targets"], data["widths"], vectors=data["vectors"])
    catalog = sp.Catalog(ids, data["targets"], vectors=data["vectors"])
    selector, levers, state = sp.GreedySelector(), sp.Levers(0.1, 0.3, DIVERSITY, k), sp.State()
    scores, widths = data["scores"], data["widths"]
    tasks = {
        "pyversity": lambda: diversify(data["vectors"], scores, k, Strategy.MMR, diversity=DIVERSITY),
        "one": lambda: selector.select(pool, levers, state),
        "one_with_catalog": lambda: selector.select(catalog.pool(ids, scores, widths), levers, state),
        "construct_pool": lambda: sp.Pool(ids, scores, data["targets"], widths, vectors=data["vectors"]),
    }
    if langchain:
        tasks["langchain"] = lambda: maximal_marginal_relevance(data["query"], data["vectors"], lambda_mult=1 - DIVERSITY, k=k)
    return medians(tasks, **timing)


def batch(n: int, d: int, k: int, pools: int, **timing: Any) -> dict[str, float]:
    """Seconds per slate of a batch on all cores, with and without the full trace, and with the certificate on top."""
    rng = np.random.default_rng(1)
    catalog = sp.Catalog(np.arange(n), rng.uniform(size=n), vectors=inputs(n, d)["vectors"])
    every = sp.PoolBatch.of([catalog.pool(np.arange(n), rng.normal(size=n), rng.uniform(size=n)) for _ in range(pools)])
    selector, levers, states = sp.GreedySelector(), sp.Levers(0.1, 0.3, DIVERSITY, k), StateBatch.of(sp.State(), pools)
    vectors, scores = catalog.similarity.vectors, every[0].scores
    tasks = {
        "pyversity": lambda: diversify(vectors, scores, k, Strategy.MMR, diversity=DIVERSITY),
        # Second, on one thread: NumPy's own threads spin on for a while after pyversity and would hold the other core.
        "batch_one_thread": partial(selector.select_batch, every, levers, states, threads=1),
        "batch": partial(selector.select_batch, every, levers, states),
        "batch_without_trace": partial(selector.select_batch, every, levers, states, trace=False),
        "batch_certified": lambda: certify_batch(selector.select_batch(every, levers, states)),
    }
    seconds = medians(tasks, **timing)
    return {name: value if name == "pyversity" else value / pools for name, value in seconds.items()}


def evaluations(n: int, d: int, k: int) -> dict[str, float]:
    """How many similarities were computed, of the K n there are, over 50 pools."""
    data, rng = inputs(n, d), np.random.default_rng(2)
    catalog = sp.Catalog(np.arange(n), data["targets"], vectors=data["vectors"])
    counts = []
    for _ in range(50):
        pool = catalog.pool(np.arange(n), rng.normal(size=n), rng.uniform(size=n))
        counts.append(sp.GreedySelector().select(pool, sp.Levers(0.1, 0.3, DIVERSITY, k)).steps.evaluations)
    return {"mean": float(np.mean(counts)), "possible": n * k}


def growth() -> list[dict[str, Any]]:
    """One slate, a batch, pyversity and LangChain over n, K and dimension."""
    cases = [(n, 48, k) for n in (100, 1_000, 10_000) for k in (5, 8, 10, 20)] + [(1_000, d, 10) for d in (8, 32, 128, 512)]
    rows = []
    for n, d, k in cases:
        seconds, many = single(n, d, k, langchain=True, **QUICK), batch(n, d, k, max(100, 1_000_000 // n), **QUICK)
        seconds |= {name: value for name, value in many.items() if name != "pyversity"}
        rows.append({"n": n, "d": d, "k": k, **{name: 1e6 * value for name, value in seconds.items()}, **evaluations(n, d, k)})
    return rows


MEMORY = """
import sys
import numpy as np, pyarrow as pa
import slateproof as sp
from benchmarks.select import forget_peak, memory_catalog, peak
catalog = memory_catalog()
with pa.OSFile(sys.argv[1]) as file:  # read in one piece, so that nothing before it has used more memory
    table = pa.ipc.open_file(file).read_all()
warm = sp.PoolBatch.from_arrow(table.slice(0, 10), catalog)
sp.GreedySelector().select_batch(warm, sp.Levers(0.1, 0.3, 0.3, 8))
forget_peak()  # else a compilation or the reading of the file would hide what the batch needs
before = peak()
slates = sp.GreedySelector().select_batch(sp.PoolBatch.from_arrow(table, catalog), sp.Levers(0.1, 0.3, 0.3, 8))
after = peak()
print(table.nbytes, after - before)
"""


def peak() -> int:
    """Most memory this process has held, in bytes. Not ``ru_maxrss``: that is inherited from the process that started this one."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    """Let the peak begin anew at what the process holds now."""
    Path("/proc/self/clear_refs").write_text("5")


def memory_catalog() -> sp.Catalog:
    rng = np.random.default_rng(3)
    return sp.Catalog(np.arange(1_000), rng.uniform(size=1_000), vectors=inputs(1_000, 48)["vectors"])


def memory_table(pools: int, n: int = 100) -> pa.Table:
    rng = np.random.default_rng(4)
    starts = pa.array(np.arange(0, pools * n + 1, n), pa.int32())
    ids = np.concatenate([rng.permutation(1_000)[:n] for _ in range(pools)])
    columns = {"ids": ids, "scores": rng.normal(size=pools * n), "widths": rng.uniform(size=pools * n)}
    return pa.table({name: pa.ListArray.from_arrays(starts, pa.array(column)) for name, column in columns.items()})


def memory(pools: int = 100_000) -> dict[str, float]:
    """Peak memory on top of the input table, and input and peak together over the input, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path, table = str(Path(folder) / "pools.arrow"), memory_table(pools)
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        done = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True)
    size, extra = (int(word) for word in done.stdout.split())
    return {"pools": pools, "input_bytes": size, "extra_bytes": extra, "ratio": (size + extra) / size}


def headline() -> list[dict[str, Any]]:
    """The ratios that the issue asks for, with the goals."""
    rows = []
    for place, (n, d, k) in enumerate(HEADLINE):
        one, many = single(n, d, k, langchain=n <= 1_000), batch(n, d, k, max(100, 1_000_000 // n))
        row: dict[str, Any] = {"n": n, "d": d, "k": k}
        for name, value in one.items():
            row[f"{name}_us"] = 1e6 * value
        for name, value in many.items():
            row[f"{'batch_pyversity' if name == 'pyversity' else name}_us"] = 1e6 * value
        for name in ("one", "one_with_catalog"):
            row[f"{name}_ratio"] = one["pyversity"] / one[name]
        row["batch_ratio"] = many["pyversity"] / many["batch"]
        row["trace_cost"] = many["batch"] / many["batch_without_trace"]
        row["certificate_cost"] = many["batch_certified"] / many["batch"]
        row["goals"] = {name: goals[place] for name, goals in GOALS.items()}
        rows.append(row)
    return rows


def python_share() -> list[dict[str, float]]:
    """Share of one `select` that is spent around the kernel: checks, allocation, result objects. Both on the same pool."""
    rows = []
    for n, d, k in HEADLINE:
        data = inputs(n, d)
        pool = sp.Pool(np.arange(n), data["scores"], data["targets"], data["widths"], vectors=data["vectors"])
        selector, levers, state = sp.GreedySelector(), sp.Levers(0.1, 0.3, DIVERSITY, k), sp.State()
        seconds = medians(
            {"select": partial(selector.select, pool, levers, state), "kernel": kernel_call(pool, selector, levers, state)}
        )
        share = 1 - seconds["kernel"] / seconds["select"]
        rows.append({"n": n, "select_us": 1e6 * seconds["select"], "kernel_us": 1e6 * seconds["kernel"], "python_share": share})
    return rows


def kernel_call(pool: sp.Pool, selector: sp.GreedySelector, levers: sp.Levers, state: sp.State) -> Callable[[], int]:
    """The compiled kernel alone, on arrays that are ready."""
    n, k, rule, source = pool.size, levers.size, selector.rule, pool.similarity
    places, numbers, kept = np.empty(2 * k + n, np.int64), np.empty(4 * k + n), np.empty((n, k))
    return partial(
        greedy,
        pool.scores, pool.targets, pool.widths, pool.rank, pool.rows, NO_RANKS,
        source.code, source.vectors, source.flat, source.rows, source.tag_ptr, source.tag_ids, source.lower, source.higher,
        target_of(state, levers), rule.window, rule.target_gain, rule.novelty, levers.exploration, levers.diversity, False,
        places, numbers, kept, scratch(n, k),
    )  # fmt: skip


@njit
def many_dots(vectors: Any, groups: int, lanes: Any, out: Any) -> None:
    for group in range(groups):
        for lane in range(LANES):
            lanes[lane] = (8 * group + lane) % vectors.shape[0]
        eight_dots(vectors, lanes, group % vectors.shape[0], out)


def profile() -> list[dict[str, float]]:
    """Where the time of one slate in a batch goes, on one core: each column adds one part of the work to the column before."""
    rows = []
    for n, d, k in HEADLINE:
        pools = max(20, 100_000 // n)
        rng = np.random.default_rng(5)
        vectors = inputs(n, d)["vectors"]
        catalog = sp.Catalog(np.arange(n), rng.uniform(size=n), vectors=vectors)
        every = sp.PoolBatch.of([catalog.pool(np.arange(n), rng.normal(size=n), rng.uniform(size=n)) for _ in range(pools)])
        select, states = partial(sp.GreedySelector().select_batch, every, threads=1), StateBatch.of(sp.State(), pools)
        first, plain, full = sp.Levers(0.1, 0.3, 0.0, 1), sp.Levers(0.1, 0.3, 0.0, k), sp.Levers(0.1, 0.3, DIVERSITY, k)
        slates = select(full, states)
        asked = sum(slates[b].steps.evaluations for b in range(20)) / 20
        lanes, out = np.zeros(LANES, np.int64), np.empty(LANES)
        # The same work on pools that repeat: the processor learns their branches.
        runs = sp.PoolBatch.of([every[b] for b in range(10) for _ in range(pools // 10)])
        again = partial(sp.GreedySelector().select_batch, runs, full, StateBatch.of(sp.State(), len(runs)), trace=False, threads=1)
        seconds = medians(
            {
                "shaping_and_first_item": partial(select, first, states, trace=False),
                "all_steps_without_similarities": partial(select, plain, states, trace=False),
                "with_similarities": partial(select, full, states, trace=False),
                "with_trace": partial(select, full, states),
                "with_similarities_on_runs_of_equal_pools": again,
                "the_dot_products_alone": partial(many_dots, vectors, int(asked / LANES * pools), lanes, out),
                "pyversity": lambda v=vectors, s=every[0].scores, k=k: diversify(v, s, k, Strategy.MMR, diversity=DIVERSITY),
            }
        )
        parts = {name: 1e6 * value / (1 if name == "pyversity" else pools) for name, value in seconds.items()}
        rows.append({"n": n, "d": d, "k": k, "similarities": asked, **parts})
    return rows


def main() -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    result = {
        "command": "python -m benchmarks.select",
        "machine": machine(),
        "headline": headline(),
        "growth": growth(),
        "python_share": python_share(),
        "profile_us": profile(),
        "memory": memory(),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    for row in result["headline"]:
        print({name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()})
    print("memory", result["memory"])
    print("python share", result["python_share"])
    for row in result["profile_us"]:
        print("one core, us per slate", {name: round(value, 2) for name, value in row.items()})
    print(f"wrote {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS.name}")


if __name__ == "__main__":
    main()
