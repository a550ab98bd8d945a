"""How often SolverVBD takes contacts between bodies anew."""

from __future__ import annotations

from typing import Any

__all__ = ["ContactHistory"]


class ContactHistory:
    """The method of SolverVBD about rows of contacts that last for several steps."""

    _rigid: Any

    def set_rigid_history_update(self, update: bool) -> None:
        """Set whether the next step takes the rows of contacts between bodies anew; later ones do.

        For several steps with the contacts of one ``collide``. With False the next step goes on with lists, materials, multipliers and
        penalties of the rows as they are; multipliers and penalties still fade, and what the rows violate at the start is found anew.
        It must be given the buffer of the step before, without a collision pass in between, and the same bodies must be dynamic. Where
        rows had no room yet, they are taken anew anyway. Only the documented formulation (``rigid_compliant_alm=False``) makes a
        difference: the default one forms its rows in every step and finds by shapes and features what it kept of them.

        Args:
            update: False to go on with the rows of the step before.
        """
        if self._rigid is not None:
            self._rigid.hold_history(bool(update))
