"""How the golden log of the present schema version was made; never again once it is committed.

``python tests/audit/golden/make.py``
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from audit_world import KEY, SCOPE, slates, write_log  # noqa: E402

from slateproof.audit import PublicKey  # noqa: E402
from slateproof.audit.schema import SCHEMA_VERSION  # noqa: E402

checkpoints = write_log(HERE / f"v{SCHEMA_VERSION}", slates(24, seed=2024), commits=2, scope=SCOPE)
created = HERE / f"v{SCHEMA_VERSION}" / "_delta_log" / f"{0:020d}.json"
# Delta notes where the table was made; no place on somebody's disk belongs into a repository.
created.write_text(created.read_text().replace(str(HERE), "/golden"))
(HERE / f"v{SCHEMA_VERSION}.checkpoint").write_text(str(checkpoints[0]), encoding="utf-8")
(HERE / f"v{SCHEMA_VERSION}.vkey").write_text(PublicKey.of(KEY).vkey + "\n")
