"""Parts that several systems share; systems import nothing from one another."""
