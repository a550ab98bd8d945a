"""How work reaches a device: compiling, recording of launches into graphs, and their replay by workers."""
