"""The figure and the tables of docs/dp-learner.md from the committed results: ``python -m benchmarks.dp_page``.

The figure is drawn anew and every table is written between its marks, so that nothing is copied by hand.

Scope: none; presentation of measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.marks import DOCS, put, read, table
from slateproof.experiments.draw import to_svg
from slateproof.experiments.figures import Figure, Panel, Series

PAGE = DOCS / "dp-learner.md"
EVERY, SPAN = 50, (0.79, 0.835)
SIDES = ("conditioned", "fixed")
PLAIN, CLIPPED = ("no noise, no clip", 3), ("clip, next to no noise", 4)
"""Name and slot of what stands in every panel."""


def figure(results: dict[str, Any]) -> Figure:
    """Loss curves above, AUC against epsilon below; one column for each kind of side inputs."""
    rows, constant = results["rows"], results["constant"]["loss"]
    ends = [row["curve"][-1][1] for row in (*results["clip_only"], *(row for row in rows if row["epsilon"] is not None))]
    losses = [
        Panel(f"Loss, side inputs {side}", f"step, from {EVERY} on", "held-out loss", _losses(results, side), y_limits=(0.1, 0.3))
        for side in SIDES
    ]
    aucs = [
        Panel(
            f"AUC, side inputs {side}", "ε per round, δ = 1e-5", "held-out AUC", _aucs(results, side), x_scale="log", y_limits=SPAN
        )
        for side in SIDES
    ]
    return Figure(
        "dp-learner",
        "Private training on OULAD, mean and range of three seeds",
        "Above, loss on held-out users against steps, for three budgets, for the same clip with next to no noise, and for training "
        "without noise and clip: all clipped curves lie on each other, whatever the noise, and end between "
        f"{min(ends):.2f} and {max(ends):.2f}, above the dashed line at {constant:.2f}, the loss of one chance for all; without "
        "clip the loss is below that line. Below, AUC on held-out users against epsilon: it rises a little with epsilon, up to "
        "what the clip alone leaves, and stays about a hundredth below training without noise and clip.",
        (*losses, *aucs),
    )


def _losses(results: dict[str, Any], side: str) -> tuple[Series, ...]:
    rows = results["rows"]
    groups = [
        *((f"ε = {one:g}", slot, [row for row in rows if row["epsilon_target"] == one]) for slot, one in enumerate(_budgets(rows))),
        (*PLAIN, [row for row in rows if row["epsilon_target"] is None]),
        (*CLIPPED, results["clip_only"]),
    ]
    out = []
    for name, slot, group in groups:
        curves = [[point for point in row["curve"] if point[0] >= EVERY] for row in group if row["side_inputs"] == side]
        steps = tuple(step for step, _ in curves[0])
        at = [[curve[place][1] for curve in curves] for place in range(len(steps))]
        y, low, high = (tuple(map(one, at)) for one in (_mean, min, max))
        out.append(Series(name, steps, y, "curve", slot, low, high))
    constant = results["constant"]["loss"]
    return (*out, Series("one chance for all", (EVERY, out[0].x[-1]), (constant, constant), "reference"))


def _aucs(results: dict[str, Any], side: str) -> tuple[Series, ...]:
    mine = [row for row in results["rows"] if row["side_inputs"] == side]
    budgets = _budgets(mine)
    at = [[row["auc"] for row in mine if row["epsilon_target"] == one] for one in budgets]
    y, low, high = (tuple(map(one, at)) for one in (_mean, min, max))
    level = {
        PLAIN: _mean([row["auc"] for row in mine if row["epsilon_target"] is None]),
        CLIPPED: _mean([row["auc"] for row in results["clip_only"] if row["side_inputs"] == side]),
    }
    ends = budgets[0], budgets[-1]
    lines = (Series(name, ends, (auc, auc), "curve", slot) for (name, slot), auc in level.items())
    return (Series("private, at ε", budgets, y, "line", 5, low, high), *lines)


def _budgets(rows: Sequence[dict[str, Any]]) -> tuple[float, ...]:
    return tuple(dict.fromkeys(row["epsilon_target"] for row in rows if row["epsilon_target"] is not None))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def utility_table(results: dict[str, Any]) -> str:
    """Per side inputs and budget: noise, AUC and loss with their range over seeds; below, the clip alone and one chance for all."""
    lines = []
    for row in results["summary"]:
        noise = "none, no clip" if row["noise_multiplier"] is None else f"{row['noise_multiplier']:.3f}"
        epsilon = "none" if row["epsilon"] is None else f"{row['epsilon']:g}"
        lines.append([row["side_inputs"], epsilon, noise, _range(row["auc"]), _range(row["loss"]), str(row["seeds"])])
    for row in results["clip_only"]:
        noise = f"{row['noise_multiplier']:g}, clip {row['clip']:g}"
        lines.append([row["side_inputs"], "none", noise, f"{row['auc']:.3f}", f"{row['curve'][-1][1]:.3f}", "1"])
    lines.append(["one chance for all", "none", "", "0.500", f"{results['constant']['loss']:.3f}", ""])
    return table(("side inputs", "ε", "noise multiplier", "AUC", "loss", "seeds"), lines)


def shift_table(results: dict[str, Any]) -> str:
    """What the clip does to the probabilities: their mean beside the truth, and the loss with every logit shifted alike."""
    lines = [
        [row["side_inputs"], *(f"{value:.3f}" for value in (row["mean_chance"], row["positive"], row["curve"][-1][1]))]
        for row in results["clip_only"]
    ]
    for line, row in zip(lines, results["clip_only"], strict=True):
        line += [f"{row['shift']:+.2f}", f"{row['loss_shifted']:.3f}"]
    heads = ("side inputs, clip alone", "mean probability", "share of positive rows", "loss", "best shift", "loss after it")
    return table(heads, lines)


def speed_table(results: dict[str, Any]) -> str:
    """Per batch size: milliseconds of a step, and how many times faster."""
    lines = [
        [str(row["batch"]), f"{row['ours_ms']:.1f}", f"{row['opacus_ms']:.1f}", f"{row['ratio']:.1f}", f"{row['cpu_ratio']:.1f}"]
        for row in results["rows"]
    ]
    made = table(("rounds", "slateproof, ms", "Opacus, ms", "times faster", "times less work of all cores"), lines)
    beside = "\n**Other work ran beside it: the times are not those of a quiet machine; the last column suffers least.**"
    machine = results["machine"]
    loaded = results.get("loaded", machine["load_before"][0] > machine["cores"] / 2)
    return made + f"\n\n{_setting(results)}" + (beside if loaded else "")


def _setting(results: dict[str, Any]) -> str:
    """What was run, and how far the two agree."""
    theirs, machine = results["peer"]["versions"], results["machine"]
    return (
        f"Opacus {theirs['opacus']} on torch {theirs['torch']}, jax {results['versions'].get('jax', 'of another version')}; "
        f"{machine['cores']} cores, load {machine['load_before'][0]:g} before the run.\n"
        f"The clipped sums agree to {results['largest_difference_of_the_sums']:.1g} of the largest entry."
    )


def _range(found: Sequence[float]) -> str:
    mean, low, high = found
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def write(page: Path = PAGE) -> None:
    """Put both tables between their marks."""
    utility = read("dp_utility")
    made = {"utility": utility_table(utility), "shift": shift_table(utility), "speed": speed_table(read("dp_speed"))}
    put(page, made)


def main() -> None:
    """Draw, and write."""
    (DOCS / "img" / "dp-learner.svg").write_text(to_svg(figure(read("dp_utility"))) + "\n", encoding="utf-8")
    write()


if __name__ == "__main__":
    main()
