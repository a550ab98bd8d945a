"""Cases of rigid bodies: scenes as arrays, the engines that are given them, and the errors of what comes out."""
