"""Pieces of networks, in torch, that trained systems and simulated users share."""
