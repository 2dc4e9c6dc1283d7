"""One module per verb of the API, generic for every resource."""
