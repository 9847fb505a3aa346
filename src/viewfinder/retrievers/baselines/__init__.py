"""The baselines of Drill-down (Tan et al., NeurIPS 2019): one state vector, or one a sentence."""
