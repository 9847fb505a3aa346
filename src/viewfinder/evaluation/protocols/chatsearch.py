"""ChatSearch's protocol (Zhao et al. 2024, Sec. 3.2): the picture that a whole dialogue leads to, in three subtasks.

tChat is words only, iChat a picture and an instruction, mChat many rounds of both. R@1, R@5 and R@10 are taken after
the last turn; the gallery is the subtask's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from viewfinder.conversation import Answer, Like, Question, Say, Turn
from viewfinder.data.chatsearch import ChatSample, ImageItem, TextItem, read_chatsearch, read_galleries
from viewfinder.evaluation.plan import SearchDialogue, Task

METRICS = ("R@1", "R@5", "R@10")


def chatsearch_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder's chat-search dialogues; files beside them, such as reviews, do not count."""
    files = (file for file in (folder / "chatsearch").glob("*.jsonl") if "." not in file.stem)
    return tuple(sorted({file.stem.rpartition("_")[2] for file in files}))


def chatsearch_tasks(folder: Path, split: str) -> list[Task]:
    """One task per subtask of the split."""
    home = folder / "chatsearch"
    galleries = read_galleries(home)
    found = []
    for file in sorted(home.glob(f"*_{split}.jsonl")):
        samples, report = read_chatsearch(file, galleries=galleries)
        if not samples:
            continue
        dialogues = tuple(SearchDialogue(one.id, one.target, tuple(make_user_turns(one))) for one in samples)
        subtask = samples[0].subtask
        gallery = galleries.get(subtask) or tuple(dict.fromkeys(sample.target for sample in samples))
        found.append(Task("chatsearch", subtask, split, gallery, dialogues, METRICS, last_only=True, reports=(report,)))
    return found


def make_user_turns(sample: ChatSample) -> Iterator[Turn]:
    """The user's part, with what the system said and showed before each piece of it."""
    asked, shown = "", ""
    for turn in sample.turns:
        text = " ".join(item.text for item in turn.content if isinstance(item, TextItem))
        pictures = [item.image for item in turn.content if isinstance(item, ImageItem)]
        if turn.role == "assistant":
            asked, shown = text, pictures[-1] if pictures else ""
        elif pictures or shown:
            yield Like(pictures[-1] if pictures else shown, text)
            asked, shown = "", ""
        elif asked.endswith("?"):
            yield Answer(Question(asked, by="recorded"), text)
            asked = ""
        else:
            yield Say(text)
