"""Every benchmark of speed, one after another, each in a process of its own: ``python -m benchmarks.run``, or ``make bench``.

A quarter of an hour on an idle machine. Results go to ``benchmarks/results``; the checks that take longer have targets of their own
(``make trials``, ``make attack``).
"""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = (
    ("benchmarks.select",),
    ("benchmarks.scpo",),
    ("benchmarks.certify",),
    ("benchmarks.pages",),
    ("benchmarks.audit", "--records", "200000", "--json", "benchmarks/results/audit.json"),
)


def main() -> int:
    failed = 0
    for module, *options in RUNS:
        print(f"== python -m {' '.join([module, *options])}", flush=True)
        start = time.perf_counter()
        failed |= subprocess.run([sys.executable, "-m", module, *options], check=False).returncode
        print(f"   {time.perf_counter() - start:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
