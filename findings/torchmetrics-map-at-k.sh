#!/bin/sh
# torchmetrics 1.9.0: retrieval_average_precision(top_k=k) falls when one more right picture is found, and depends on
# the sign of the scores.
#
# 1. It divides by the right pictures *found* among the first k, not by min(k, all right pictures) as CIRCO's mAP@k does
#    (and not by all of them, as trec_eval's map_cut_k). Of five right pictures, with one of them among the first five,
#    at place 1: 1.0, as if the search were perfect. With a second one at place 5: 0.7. CIRCO: 0.2, then 0.28.
# 2. A right picture whose score is not above 0 counts as wrong. Cosines of pictures and words may well be below 0: the
#    same ranking has 1.0 with scores from 1 down to 0.05, and 0.0 if 1 is subtracted from each of them. A single right
#    picture is lost, and nothing is said.
#
# Both concern RetrievalMAP too. Whoever reports mAP@k of composed retrieval from it reports another measure.
#
# Installs pinned packages in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet torch==2.13.0 torchmetrics==1.9.0
"$place/venv/bin/python" - <<'PYTHON'
import torch
import torchmetrics
from torchmetrics.functional.retrieval import retrieval_average_precision
from torchmetrics.retrieval import RetrievalMAP

PICTURES, K = 20, 5


def rank(places):
    """Scores that fall from 1 to 0.05, and which of the pictures are right: those at these places, from 1."""
    scores = torch.linspace(1, 0.05, PICTURES)
    right = torch.zeros(PICTURES, dtype=torch.bool)
    right[[place - 1 for place in places]] = True
    return scores, right


def of_circo(places):
    return sum((n + 1) / place for n, place in enumerate(places) if place <= K) / min(K, len(places))


def of_torchmetrics(places, less=0.0):
    scores, right = rank(places)
    value = retrieval_average_precision(scores - less, right, top_k=K).item()
    whole = RetrievalMAP(top_k=K)(scores - less, right, indexes=torch.zeros(PICTURES, dtype=torch.long)).item()
    assert abs(value - whole) < 1e-6, (value, whole)
    return round(value, 4)


print("torchmetrics", torchmetrics.__version__, "torch", torch.__version__)
found_one, found_two = [1, 6, 7, 8, 9], [1, 5, 6, 7, 8]
for places in (found_one, found_two):
    print(f"right pictures at places {places}: AP@5 {of_torchmetrics(places)}, by CIRCO's definition {of_circo(places):.2f}")
assert of_torchmetrics(found_one) == 1.0 and of_torchmetrics(found_two) == 0.7
assert round(of_circo(found_one), 4) == 0.2 and round(of_circo(found_two), 4) == 0.28

for less in (0.0, 1.0):
    scores, _ = rank([1])
    print(f"one right picture, first, its score {scores[0] - less:.2f}: AP@5 {of_torchmetrics([1], less)}")
assert of_torchmetrics([1]) == 1.0 and of_torchmetrics([1], less=1.0) == 0.0
print("as described")
PYTHON
