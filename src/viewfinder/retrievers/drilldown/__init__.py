"""Drill-down (Tan et al., NeurIPS 2019): a dialogue kept in a few state vectors, each of which attends to regions."""
