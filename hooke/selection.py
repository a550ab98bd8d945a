"""Selection by label, under the name of the documented API."""

from hooke.model.selection import ArticulationView, match_labels, select

__all__ = ["ArticulationView", "match_labels", "select"]
