"""Contact laws: normal force, friction, mixing of materials. No detection, no loops."""
