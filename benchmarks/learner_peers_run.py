"""The other side of ``benchmarks.learner_peers``: runs under a Python that has the peer (pykt-toolkit, or pyBKT), not slateproof.

    PYTHON -P benchmarks/learner_peers_run.py dkt|sakt|bkt FILE.npz SEED

Prints one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from importlib.metadata import version
from typing import Any

import numpy as np


def main() -> None:
    what, file, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    data = dict(np.load(file))
    with contextlib.redirect_stdout(sys.stderr):
        result = knowledge_tracing(data, seed) if what == "bkt" else sequences(what, data, seed)
    print(json.dumps(result))


def sequences(what: str, data: dict[str, Any], seed: int) -> dict[str, Any]:
    """pykt-toolkit's own model, training loop, early stopping (ten epochs without a better validation AUC) and evaluation."""
    import torch
    from pykt.models.dkt import DKT
    from pykt.models.sakt import SAKT
    from pykt.models.train_model import train_model

    torch.manual_seed(seed)
    torch.set_num_threads(1)  # these sizes gain nothing from more, and lose much where the cores are busy
    skills, width, window = int(data["skills"]), int(data["width"]), int(data["window"])
    if what == "dkt":
        model: Any = DKT(skills, width, dropout=0.2)
    else:
        model = SAKT(skills, window - 1, width, num_attn_heads=int(data["heads"]), dropout=0.2, num_en=1)
    rate, batch = float(data["learning_rate"]), int(data["batch"])
    train, valid, test = (loader(data, part, batch, part == "train", seed) for part in ("train", "valid", "test"))
    with tempfile.TemporaryDirectory() as folder:
        adam = torch.optim.Adam(model.parameters(), rate)
        auc, _, _, _, valid_auc, _, epoch = train_model(model, train, valid, int(data["epochs"]), adam, folder, test_loader=test)
    return {"auc": auc, "valid_auc": valid_auc, "epoch": epoch, "pykt-toolkit": version("pykt-toolkit"), "torch": version("torch")}


def loader(data: dict[str, Any], part: str, batch: int, shuffle: bool, seed: int) -> Any:
    """Batches as pykt-toolkit's own data sets give them: every answer but the last, and the same moved by one."""
    import torch

    skill, label = (torch.as_tensor(data[f"{part}_{name}"]) for name in ("skill", "label"))
    there = skill >= 0
    c, r = skill.clamp(min=0), torch.where(there, label, 0.0)
    masks = there[:, :-1] & there[:, 1:]
    whole = {"qseqs": c[:, :-1], "cseqs": c[:, :-1], "rseqs": r[:, :-1], "tseqs": c[:, :-1]}
    whole |= {f"shft_{name}": column[:, 1:] for name, column in (("qseqs", c), ("cseqs", c), ("rseqs", r), ("tseqs", c))}
    whole |= {"masks": masks, "smasks": masks}
    rows = [{name: column[i] for name, column in whole.items()} for i in range(len(c)) if masks[i].any()]
    chance = torch.Generator().manual_seed(seed)
    return torch.utils.data.DataLoader(rows, batch_size=batch, shuffle=shuffle, generator=chance)


def knowledge_tracing(data: dict[str, Any], seed: int) -> dict[str, Any]:
    """pyBKT fitted per skill from one random start, and its predictions of the test users' answers."""
    import pandas as pd
    from pyBKT.models import Model

    def frame(part: str) -> Any:
        columns = {name: data[f"{part}_{name}"] for name in ("user_id", "skill_name", "correct")}
        return pd.DataFrame(columns | {"order_id": np.arange(columns["correct"].size)}).astype({"skill_name": str})

    model = Model(seed=seed, num_fits=1, parallel=False)
    model.fit(data=frame("train"))
    out = model.predict(data=frame("test")).sort_values("order_id")
    found = {str(k): {p: float(np.ravel(v[p])[0]) for p in ("prior", "learns", "slips", "guesses")} for k, v in model.coef_.items()}
    return {"parameters": found, "chances": out["correct_predictions"].round(9).tolist(), "pyBKT": version("pyBKT")}


if __name__ == "__main__":
    main()
