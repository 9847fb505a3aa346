"""The baselines of Drill-down (Tan et al., NeurIPS 2019): one state vector, or one a sentence."""

from viewfinder.retrievers.baselines.retriever import Baseline, BaselineState, load

__all__ = ["Baseline", "BaselineState", "load"]
