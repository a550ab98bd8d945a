"""How work reaches a device: recording of launches into graphs, and their replay."""
