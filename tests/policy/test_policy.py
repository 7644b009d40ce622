"""Policy files: what they mean, what they refuse, and that the digest follows the meaning."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import slateproof as sp
from slateproof.policy import TEMPLATE, Policy
from slateproof.types import LeverBatch, StateBatch


def test_the_template_is_valid_and_is_the_paper() -> None:
    policy = Policy.parse(TEMPLATE)
    assert policy.bound_selector.rule == sp.GreedySelector.preset("oulad").rule
    state = sp.State(engagement=0.6, uncertainty=0.8)
    assert policy.levers_for(state) == sp.LeverMap.preset("oulad")(state)
    assert policy.scope().regime == "conditional"


def test_every_commented_key_of_the_template_is_a_key() -> None:
    """Uncommented, the template still parses: section by section, because fixed levers and a map exclude each other."""
    lines = TEMPLATE.splitlines()
    fixed = lines.index(next(line for line in lines if line.startswith("# [levers.fixed]")))
    for n, line in enumerate(lines):
        if line.startswith("# ") and "=" in line and " " not in line[2:].split("=")[0].strip():
            inside_fixed = fixed < n < fixed + 5
            changed = [*lines[:n], line[2:], *lines[n + 1 :]]
            if "window only" in line:
                changed = [part.replace('kind = "greedy"', 'kind = "window"') for part in changed]
            if inside_fixed:
                changed = [part.replace("# [levers.fixed]", "[levers.fixed]") for part in changed]
                changed = [part for part in changed if not part.startswith('preset = "oulad"         # clipped')]
            elif line[2:].split(" ")[0] in ("exploration", "diversity", "size", "target_shift"):
                changed = [part.replace("# [levers.bounds]", "[levers.bounds]") for part in changed]
            assert Policy.parse("\n".join(changed)).digest, line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("speed = 1", "speed: is not a key of a policy"),
        ("[selector]\nspeed = 1", "selector.speed: is not a key of a policy"),
        ("[selector]\nkind = 'random'", "selector.kind: input should be 'greedy', 'window' or 'top-k' (got 'random')"),
        ("[selector]\nwindow = 0", "selector.window: input should be greater than 0 (got 0)"),
        ("[selector]\nnovelty = nan", "selector.novelty"),
        ("[selector]\nnovelty = '0.4'", "selector.novelty: input should be a valid number (got '0.4')"),
        ("[selector]\nwindow = true", "selector.window: input should be a valid number (got True)"),
        ("[levers.fixed]\nsize = '5'", "levers.fixed.size: input should be a valid integer (got '5')"),
        ("[levers.fixed]\nsize = 5.0", "levers.fixed.size: input should be a valid integer (got 5.0)"),
        ("[levers]\nsize_adapts = 1", "levers.size_adapts: input should be a valid boolean (got 1)"),
        ("[state]\nmemory = '9'", "state.memory: input should be a valid integer (got '9')"),
        ("[selector]\nkind = 'top-k'\ntarget_gain = 0.2", "selector.target_gain: means nothing where kind = 'top-k' (got 0.2)"),
        ("[selector]\nkind = 'top-k'\nnode_budget = 9", "selector.node_budget: means nothing where kind = 'top-k' (got 9)"),
        ("[selector]\nkind = 'window'\nnovelty = 0.0", "selector.novelty: means nothing where kind = 'window' (got 0.0)"),
        (
            "[selector]\nkind = 'window'\ndissimilarity = 'max'",
            "selector.dissimilarity: means nothing where kind = 'window' (got 'max')",
        ),
        ("[selector]\nnode_budget = 9", "selector.node_budget: means nothing where kind = 'greedy' (got 9)"),
        ("[levers]\npreset = 'mine'", "levers.preset: must be one of oulad, ednet (got 'mine')"),
        ("[levers]\nsize_base = -1", "levers.size_base: must be at least 0 (got -1.0)"),
        ("[levers.bounds]\ndiversity = [0.5, 0.1]", "levers.bounds.diversity: must be an interval inside [0, 1] (got (0.5, 0.1))"),
        ("[levers]\npreset = 'oulad'\n[levers.fixed]\nsize = 3", "either fixed levers, or a preset and constants of a map"),
        ("[levers.fixed]\nsize = 9\n[levers.bounds]\nsize = [2, 8]", "levers.size: the policy allows [2, 8] (got 9)"),
        ("[privacy.inputs]\nscores = 'public'", "privacy.inputs.candidates: needs a status"),
        ("[trace]\nlevel = 'all'", "trace.level"),
        ("a = ", "policy: is not TOML"),
    ],
)
def test_a_policy_refuses(text: str, said: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        Policy.parse(text)
    assert said in str(caught.value)


def test_unknown_status_is_named_by_input() -> None:
    with pytest.raises(sp.InvalidInput, match=r"privacy.inputs.widths: must be one of public, .* \(got 'secret'\)"):
        Policy.parse(TEMPLATE.replace('widths = "conditioned"', 'widths = "secret"'))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(sp.InvalidInput, match="policy: cannot be read"):
        Policy.load(tmp_path / "none.toml")


def test_the_digest_follows_the_meaning_not_the_text() -> None:
    base = Policy.parse("")
    same = Policy.parse("[selector]\nwindow = 0.30\n# a remark\n[levers]\npreset = 'oulad'")
    assert base.digest == same.digest
    others = (
        "[selector]\nwindow = 0.31",
        "[levers]\nsize_base = 6",
        "name = 'x'",
        "[state]\nmemory = 10",
        "[selector]\nkind = 'window'",
    )
    assert len({Policy.parse(text).digest for text in others} | {base.digest}) == 6


def test_slates_name_their_policy_and_keep_to_its_box() -> None:
    policy = Policy.parse("[levers.fixed]\nsize = 2\ndiversity = 0.3")
    pool = sp.Pool(["a", "b", "c"], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    slate = policy.select(pool)
    assert slate.trace.to_dict()["policy_digest"] == policy.digest
    batch = policy.select_batch(sp.PoolBatch.of([pool, pool]))
    assert batch[1] == slate
    assert batch[0].policy_digest == policy.digest
    narrow = Policy.parse("[selector]\nkind = 'greedy'").bound_selector
    with pytest.raises(sp.InvalidInput, match="the policy allows"):
        narrow.select(pool, sp.Levers(diversity=0.9, size=2))


def test_levers_of_a_batch_equal_those_of_its_states() -> None:
    policy = Policy.parse(TEMPLATE)
    states = [sp.State(0.2, 0.9, 0.1), sp.State(0.7, 0.0, 1.0)]
    columns = policy.levers_for_batch(StateBatch.of(states, 2), 2)
    assert [columns[b] for b in range(2)] == [policy.levers_for(s) for s in states]
    fixed = Policy.parse("[levers.fixed]\nsize = 4")
    assert isinstance(fixed.levers_for_batch(StateBatch.of(states, 2), 2), LeverBatch)


@pytest.mark.parametrize(("kind", "name"), [("window", "window"), ("top-k", "top-k"), ("greedy", "greedy")])
def test_every_selector_can_be_asked_for(kind: str, name: str) -> None:
    assert Policy.parse(f"[selector]\nkind = '{kind}'\npreset = 'ednet'").bound_selector.rule.kind == name


def test_an_integer_is_a_float() -> None:
    assert Policy.parse("[selector]\nwindow = 1\n[levers]\nsize_base = 6").selector.constant("window") == 1.0


@pytest.mark.parametrize("kind", ["greedy", "window", "top-k"])
@pytest.mark.parametrize("by_reference", [True, False])
def test_a_table_of_pools_becomes_a_table_of_slates_on_any_worker(kind: str, by_reference: bool) -> None:
    """DESIGN 1: a batch is a pure, picklable function from an Arrow table and a policy to an Arrow table."""
    rng = np.random.default_rng(0)
    catalog = sp.Catalog([f"q{i}" for i in range(30)], rng.uniform(size=30), vectors=sp.unit(rng.normal(size=(30, 4))))
    picks = [rng.permutation(30)[:12] for _ in range(7)]
    columns = {"ids": [[f"q{i}" for i in pick] for pick in picks], "scores": [rng.normal(size=12) for _ in picks]}
    if not by_reference:
        columns["targets"] = [rng.uniform(size=12) for _ in picks]
    extra = {"knowledge": [0.1 * b for b in range(7)], "shown": [["q1"], None, [], ["q2"], ["q3"], None, None]}
    table = pa.table({"round_id": [f"r{b}" for b in range(7)], **columns, **extra})
    policy = Policy.parse(f"[selector]\nkind = '{kind}'")
    known = catalog if by_reference else None
    task = pickle.loads(pickle.dumps(functools.partial(policy.select_table, catalog=known)))
    made = task(table)
    assert made.equals(policy.select_table(table, known))
    pieces = [task(table.slice(b, 1)).drop_columns("row") for b in range(7)]
    assert pa.concat_tables(pieces).equals(made.drop_columns("row"))
    states = [sp.State(0.1 * b, shown=ids or ()) for b, ids in enumerate(extra["shown"])]
    for b, slate in enumerate(policy.select_batch(sp.PoolBatch.from_arrow(table, known), states)):
        row = made.slice(b, 1).to_pylist()[0]
        assert row["ids"] == list(slate.ids)
        assert row["round_id"] == f"r{b}"
        assert row["policy_digest"] == policy.digest
        assert row["radius"] == pytest.approx(sp.certify(slate).radius)
        assert row["radius"] <= sp.certify(slate).radius * (1 + 1e-12)
    with pytest.raises(sp.InvalidInput, match="margin: is the name of a column of the result"):
        policy.select_table(table.append_column("margin", table["round_id"]), known)
