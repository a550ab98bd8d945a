"""Forward kinematics of mechanisms with loops."""
