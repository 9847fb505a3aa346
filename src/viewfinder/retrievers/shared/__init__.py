"""What several systems are built of; systems import nothing from one another."""
