"""Tables: the form in which all data of a model is kept. See :mod:`hooke.data.table`."""
