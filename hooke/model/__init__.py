"""The data model: builder, model, state, control, contacts, and what is measured of them."""
