"""Tables "tab:fixed-margin-fit-cells" and "tab:fixed-margin-pairtau-fit", and the slope's interval from the text.

Scope: none; other people's numbers.
"""

from __future__ import annotations

from slateproof.experiments.verdicts import Published

__all__ = ["CELLS", "FITS"]

CELLS = (
    # gamma, w, sigma, smoothed Flip@K
    (0.35, 0.50, 0.12, 0.01230),
    (0.35, 0.75, 0.25, 0.02417),
    (0.50, 0.50, 0.18, 0.02630),
    (0.50, 0.75, 0.35, 0.01708),
    (0.70, 0.00, 0.12, 0.01223),
    (0.70, 0.50, 0.25, 0.02333),
    (0.90, 0.00, 0.18, 0.09229),
    (0.90, 0.50, 0.35, 0.06517),
)

_CELLS, _FITS, _FIGURE = "tab:fixed-margin-fit-cells", "tab:fixed-margin-pairtau-fit", "fig:topk-flip-theorem"

FITS = (
    Published("slope_independent", _FIGURE, "slope, independent noise", -0.220, (-0.231, -0.210)),
    Published("slope_error", _CELLS, "standard error of that slope", 0.0042, tolerance=0.002),
    Published("r_squared_independent", _FITS, "R², independent noise", 0.998, tolerance=0.002),
    Published("cells_independent", _FITS, "cells in the fit, independent noise", 8.0, tolerance=0.0),
    Published("slope_low_rank", _FITS, "slope, low rank r=4, ρ=.5", -0.506, tolerance=0.05),
    Published("r_squared_low_rank", _FITS, "R², low rank", 0.997, tolerance=0.004),
    Published("cells_low_rank", _FITS, "cells in the fit, low rank", 12.0, tolerance=0.0),
)
