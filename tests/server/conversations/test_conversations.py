"""Conversations: kept, gone on with, owned; two of them on one database; what a study hides.

This file is also the program of another process: `python test_talks.py FOLDER URL SESSION TEXT` says one thing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from viewfinder.conversation import Say, Turn
from viewfinder.errors import BadInput, EmptyQuery, UnknownName
from viewfinder.library import Library
from viewfinder.pictures import picture_id
from viewfinder.retrievers import Composer
from viewfinder.server.access.tokens import LOCAL, Caller
from viewfinder.server.conversations.answers import question_to_api
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import (
    AnswerTurn,
    BackToTurn,
    Exported,
    Found,
    LikeTurn,
    RejectTurn,
    SayTurn,
    SearchIn,
    SessionChange,
    SessionIn,
    ShowTurn,
)
from viewfinder.server.database import Database, UploadRows
from viewfinder.server.pictures.uploads import ReceivedFile, Uploads
from viewfinder.server.problems import Problem
from viewfinder.server.settings import ServerSettings
from viewfinder.session.session import Session, TurnResult
from viewfinder.testing import draw_halves

OpenConversations = Callable[..., Conversations]

ANN = Caller("ann", frozenset({"read", "write"}))
BOB = Caller("bob", frozenset({"read", "write"}))


def begun(conversations: Conversations, caller: Caller = LOCAL, *, said: tuple[str, ...] = (), **given: Any) -> str:
    """A new conversation in which something was said."""
    id = conversations.create(caller, SessionIn.model_validate({"n": 5, **given})).id
    for text in said:
        conversations.question(id, conversations.take(caller, id, SayTurn(say=text)).turn)
    return id


def test_a_turn_has_the_results_of_the_engine(conversations: Conversations, colours: Library) -> None:
    results = conversations.take(LOCAL, begun(conversations), SayTurn(say="red over blue"))
    alone = Session(colours, Composer(), None, n=5).search(Say("red over blue"))
    assert [(hit.rank, hit.id, hit.score, hit.match) for hit in results.results] == [
        (hit.rank, hit.id, hit.score, hit.match) for hit in alone
    ]
    assert (results.turn, results.verdict, results.total, results.next) == (1, alone.verdict, 64, "5")
    assert [chip.label for chip in results.beliefs] == ["red over blue"]


def test_the_question_comes_after_the_results(conversations: Conversations) -> None:
    id = begun(conversations)
    results = conversations.take(LOCAL, id, SayTurn(say="something"))
    assert (results.question, results.asking) == (None, True)
    question = conversations.question(id, 1)
    assert question is not None
    again = conversations.results(LOCAL, id, 1)
    assert (again.question and again.question.text, again.asking) == (question.text, False)
    assert conversations.tree(LOCAL, id).tree[1].asked == again.question


def test_an_answer_before_the_question_was_fetched_is_to_that_question(conversations: Conversations) -> None:
    id = begun(conversations)
    conversations.take(LOCAL, id, SayTurn(say="something"))
    conversations.take(LOCAL, id, AnswerTurn(answer="red"))
    tree = conversations.tree(LOCAL, id).tree
    assert tree[1].asked is not None
    assert json.loads(tree[2].model_dump_json())["turn"] == {"answer": "red", "question": tree[1].asked.model_dump()}


def test_a_question_keeps_its_examples_in_the_database_and_abroad(
    open_conversations: Callable[[Database], Conversations], sqlite: Database
) -> None:
    conversations = open_conversations(sqlite)
    id = begun(conversations)
    conversations.take(LOCAL, id, SayTurn(say="something"))
    question = conversations.question(id, 1)
    assert question is not None
    # A picture for each choice but "something else" and "don't know".
    assert [bool(example) for example in question.examples] == [True] * (len(question.choices) - 2) + [False] * 2
    restarted = open_conversations(sqlite)
    assert restarted.results(LOCAL, id, 1).question == question_to_api(question)
    document = Exported.model_validate_json(restarted.export(LOCAL, id).model_dump_json(by_alias=True))
    asked = restarted.tree(ANN, restarted.import_(ANN, document).id).tree[1].asked
    assert asked is not None
    assert asked.examples == list(question.examples)


def test_without_a_question_there_is_no_answer(conversations: Conversations) -> None:
    id = begun(conversations, questioner="none", said=("red",))
    with pytest.raises(BadInput, match="no question to answer"):
        conversations.take(LOCAL, id, AnswerTurn(answer="red"))
    assert not conversations.results(LOCAL, id, 1).asking


def test_pages_are_the_whole_ranking_once(conversations: Conversations) -> None:
    id = begun(conversations, said=("red",))
    conversations.take(LOCAL, id, RejectTurn(reject=["p000", "p001"]))
    page = conversations.results(LOCAL, id, 2, n=25)
    hits, cursors = list(page.results), [page.next]
    while page.next is not None:
        page = conversations.results(LOCAL, id, 2, n=25, cursor=page.next)
        hits, cursors = [*hits, *page.results], [*cursors, page.next]
    assert cursors == ["25", "50", None]
    assert [hit.rank for hit in hits] == list(range(1, 63))
    assert {hit.id for hit in hits} == {f"p{at:03}" for at in range(2, 64)}
    with pytest.raises(BadInput, match="cursor"):
        conversations.results(LOCAL, id, 2, cursor="-1")


def test_a_filter_counts_only_what_it_lets_through(conversations: Conversations) -> None:
    id = begun(conversations, where={"top": "red"})
    assert conversations.take(LOCAL, id, SayTurn(say="blue")).total == 8
    results = conversations.take(LOCAL, id, RejectTurn(reject=["p000", "p063"]))  # red over red; black over black
    assert results.total == conversations.results(LOCAL, id, 2).total == 7


def test_after_a_filter_the_question_is_chosen_anew(conversations: Conversations) -> None:
    id = begun(conversations, said=("a shape",))
    asked = conversations.question(id, 1)
    assert asked is not None and asked.attribute is not None
    conversations.change(LOCAL, id, SessionChange(where={asked.attribute: asked.choices[0]}))
    now = conversations.question(id, 1)
    assert now is not None and now.attribute != asked.attribute, "what the filter settles is asked"
    shown = conversations.results(LOCAL, id, 1).question
    assert shown is not None and shown.attribute == now.attribute
    conversations.change(LOCAL, id, SessionChange(where={}))
    assert conversations.question(id, 1) == asked
    conversations.change(LOCAL, id, SessionChange(name="shapes"))
    assert conversations.question(id, 1) == asked


def test_any_turn_can_be_looked_at_again_as_another_retriever_has_it(conversations: Conversations) -> None:
    id = begun(conversations, said=("red", "over blue"))
    conversations.take(LOCAL, id, RejectTurn(reject=["p000"]))
    assert conversations.results(LOCAL, id, 1).beliefs[0].label == "red"
    other = conversations.results(LOCAL, id, 3, retriever="clip-t")
    assert other.adapters == ["drop: clip-t has no use for reject"]
    assert conversations.results(LOCAL, id, 3).adapters == []
    assert conversations.ranking(LOCAL, id, 1).why(["p000"])["p000"]["turns"][0]["parts"] == [
        "red",
        'written of it: "red"',
    ]


def test_a_conversation_goes_on_after_it_was_read_again(
    open_conversations: OpenConversations, sqlite: Database
) -> None:
    first = open_conversations(sqlite)
    id = begun(first, said=("red", "over blue"))
    second = open_conversations(sqlite)
    assert second.results(LOCAL, id, 2).results == first.results(LOCAL, id, 2).results
    assert second.take(LOCAL, id, SayTurn(say="green")).turn == 3
    assert first.tree(LOCAL, id) == second.tree(LOCAL, id)


def test_only_the_last_used_conversations_stay_in_memory(
    open_conversations: OpenConversations, sqlite: Database
) -> None:
    conversations = open_conversations(sqlite, sessions_in_memory=2)
    ids = [begun(conversations, said=("red",)) for _ in range(3)]
    assert len(conversations) == 2
    assert [conversations.take(LOCAL, id, SayTurn(say="blue")).turn for id in ids] == [2, 2, 2]
    with pytest.raises(Problem):
        conversations.results(LOCAL, "nobody", 1)
    assert len(conversations) == 2


def test_a_turn_that_cannot_be_taken_changes_nothing(conversations: Conversations) -> None:
    id = begun(conversations, said=("red",))
    before = conversations.tree(LOCAL, id)
    for turn in (SayTurn(say=" "), LikeTurn(like="p999"), BackToTurn(back_to=7), ShowTurn(show="/etc/passwd")):
        with pytest.raises((BadInput, EmptyQuery)):
            conversations.take(LOCAL, id, turn)
    assert conversations.tree(LOCAL, id) == before


def test_a_conversation_is_called_what_was_said_first(conversations: Conversations) -> None:
    long = begun(conversations, said=("a dog  in the snow" * 10, "red"))
    liked, named = begun(conversations), begun(conversations, name="mine", said=("red",))
    conversations.question(liked, conversations.take(LOCAL, liked, LikeTurn(like="p000")).turn)
    assert [conversations.tree(LOCAL, id).name for id in (long, liked, named)] == [
        ("a dog in the snow" * 10)[:60],
        "",
        "mine",
    ]
    conversations.question(liked, conversations.take(LOCAL, liked, RejectTurn(reject=[], text="stripes")).turn)
    assert conversations.tree(LOCAL, liked).name == "stripes"


def test_a_tree_tells_every_turn(conversations: Conversations) -> None:
    id = begun(conversations, questioner="none", said=("red",))
    conversations.take(LOCAL, id, LikeTurn(like=conversations.results(LOCAL, id, 1).results[1].id, but="blue"))
    conversations.take(LOCAL, id, BackToTurn(back_to=1))
    tree = conversations.tree(LOCAL, id)
    assert [(node.parent, node.told, node.shown) for node in tree.tree] == [
        (0, "", 0),
        (0, '"red"', 5),
        (1, 'like result 2 but "blue"', 5),
        (1, "back to 1", 5),
    ]
    assert (tree.path, tree.turns, tree.tree[0].at) == ([1], 3, None)


def test_settings_change_from_now_on(conversations: Conversations) -> None:
    id = begun(conversations, said=("red",))
    changed = conversations.change(LOCAL, id, SessionChange(name="x", retriever="clip-t", where={"top": "Blue"}))
    assert (changed.name, changed.retriever, changed.where, changed.questioner) == (
        "x",
        "clip-t",
        {"top": "Blue"},
        "information_gain",
    )
    assert conversations.take(LOCAL, id, SayTurn(say="white")).beliefs[0].label == "red"
    assert conversations.results(LOCAL, id, 2).total == 8


def test_a_change_right_after_a_turn_costs_it_neither_question_nor_name(conversations: Conversations) -> None:
    id = begun(conversations)
    conversations.take(LOCAL, id, SayTurn(say="something"))
    conversations.change(LOCAL, id, SessionChange(name="mine", retriever="clip-t"))
    assert conversations.results(LOCAL, id, 1).asking
    asked = conversations.question(id, 1)
    assert asked is not None
    assert question_to_api(asked) == conversations.tree(LOCAL, id).tree[1].asked
    assert conversations.tree(LOCAL, id).name == "mine"


@pytest.mark.parametrize("given", [{"retriever": "x"}, {"questioner": "x"}, {"where": {"size": "x"}}])
def test_names_that_do_not_exist_are_refused(conversations: Conversations, given: dict[str, Any]) -> None:
    id = begun(conversations)
    with pytest.raises(UnknownName):
        begun(conversations, **given)
    with pytest.raises(UnknownName):
        conversations.change(LOCAL, id, SessionChange.model_validate(given))


def test_conversations_are_seen_by_who_made_them_and_by_admin(conversations: Conversations) -> None:
    id = begun(conversations, ANN, said=("red",))
    assert [row.id for row in conversations.page(ANN, 10, None).sessions] == [id]
    assert conversations.page(BOB, 10, None).sessions == []
    assert conversations.tree(LOCAL, id).turns == 1
    looks: list[Callable[[Caller, str], Any]] = [conversations.tree, conversations.export, conversations.delete]
    for look in looks:
        with pytest.raises(Problem, match="there is no session") as caught:
            look(BOB, id)
        assert caught.value.status == 404
    with pytest.raises(Problem, match="there is no session"):
        conversations.take(BOB, id, SayTurn(say="red"))


def test_a_deleted_conversation_is_gone(conversations: Conversations) -> None:
    id = begun(conversations, said=("red",))
    conversations.delete(LOCAL, id)
    with pytest.raises(Problem, match="there is no session"):
        conversations.take(LOCAL, id, SayTurn(say="red"))
    assert conversations.question(id, 1) is None


@pytest.mark.parametrize("number", [2, 1_000_000])
def test_a_turn_that_was_never_said_is_not_found(conversations: Conversations, number: int) -> None:
    id = begun(conversations, said=("red",))
    for look in (conversations.results, conversations.list_shown):
        with pytest.raises(Problem, match=f"there is no turn {number}"):
            look(LOCAL, id, number)
    with pytest.raises(Problem, match="there is no turn"):
        conversations.edit(LOCAL, id, number, None)


def test_an_edit_is_kept_and_says_what_it_came_to(conversations: Conversations) -> None:
    id = begun(conversations, said=("red", "round"))
    replay = conversations.edit(LOCAL, id, 1, SayTurn(say="something"))
    assert (replay.numbers, replay.left_out, replay.results.turn) == ({1: 4, 2: 5}, [], 5)
    assert [chip.label for chip in replay.results.beliefs] == ["something", "round"]
    assert replay.results.asking
    assert conversations.question(id, 5) is not None
    tree = conversations.tree(LOCAL, id)
    assert (tree.path, [node.parent for node in tree.tree[1:]]) == ([4, 5], [0, 1, 0, 3, 4])


def test_an_edit_that_cannot_be_taken_leaves_all_as_it_was(conversations: Conversations) -> None:
    id = begun(conversations, said=("red", "over blue"))
    before = conversations.tree(LOCAL, id)
    with pytest.raises(UnknownName):
        conversations.edit(LOCAL, id, 1, LikeTurn(like="p999"))
    assert conversations.tree(LOCAL, id) == before
    assert conversations.take(LOCAL, id, SayTurn(say="white")).turn == 3


def test_an_exported_conversation_comes_back_as_it_was(conversations: Conversations) -> None:
    id = begun(conversations, said=("red", "over blue"), where={"top": "red"})
    conversations.take(LOCAL, id, BackToTurn(back_to=1))
    document = Exported.model_validate_json(conversations.export(LOCAL, id).model_dump_json(by_alias=True))
    copy = conversations.import_(ANN, document)
    assert conversations.export(ANN, copy.id).model_dump_json() == document.model_dump_json()
    assert conversations.results(ANN, copy.id, 2).results == conversations.results(LOCAL, id, 2).results


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([{"say": "a\0b", "parent": 0, "shown": [], "asked": None}], "NUL"),
        ([{"say": "\ud800", "parent": 0, "shown": [], "asked": None}], "surrogate"),
        ([{"say": "red"}] * 2001, "2001 turns"),
        ([{"sing": "red", "parent": 0, "shown": [], "asked": None}], "turn 1"),
    ],
)
def test_documents_that_are_no_conversation_are_refused(
    conversations: Conversations, turns: list[object], message: str
) -> None:
    conversation = {"schema": "viewfinder/conversation", "version": 1, "turns": turns}
    with pytest.raises(BadInput, match=message):
        conversations.import_(LOCAL, Exported(conversation=conversation))
    assert conversations.page(LOCAL, 10, None).sessions == []


def test_what_was_found_is_noted_with_its_rank_and_the_conversation(conversations: Conversations) -> None:
    id = begun(conversations, questioner="none", said=("red over red",))
    first = conversations.note_found(LOCAL, id, Found(picture="p000"))
    assert (first.picture, first.turn, first.rank) == ("p000", 1, 1)
    conversations.take(LOCAL, id, RejectTurn(reject=["p000"]))
    assert conversations.note_found(LOCAL, id, Found(picture="p000")).rank == 64  # rejected: the last of all
    assert conversations.note_found(LOCAL, id, Found(picture="p000", turn=1)).rank == 1
    conversations.delete(LOCAL, id)
    lines = [json.loads(line) for line in conversations.list_feedback()]
    assert [(line["turn"], line["rank"], line["retriever"]) for line in lines] == [
        (1, 1, "composer"),
        (2, 64, "composer"),
        (1, 1, "composer"),
    ]
    assert [turn.get("say") for turn in lines[0]["conversation"]["turns"]] == ["red over red"]
    assert conversations.rank_bounds(begun(conversations, said=("red over red",)), "p000", 1) == (0, 0)


def test_a_conversation_of_a_study_goes_on_there_only(conversations: Conversations) -> None:
    id = conversations.create(LOCAL, SessionIn(retriever="clip-t"), hidden=True).id
    conversations.take(LOCAL, id, SayTurn(say="red"))
    conversations.take(LOCAL, id, RejectTurn(reject=["p000"]))
    assert conversations.results(LOCAL, id, 2).adapters == []  # they would name clip-t
    assert (conversations.tree(LOCAL, id).retriever, conversations.export(LOCAL, id).retriever) == (None, None)
    assert conversations.page(LOCAL, 10, None).sessions == []
    refused: list[Callable[[], object]] = [
        lambda: conversations.take(LOCAL, id, SayTurn(say="red"), public=True),
        lambda: conversations.edit(LOCAL, id, 1, None, public=True),
        lambda: conversations.change(LOCAL, id, SessionChange(name="x"), public=True),
        lambda: conversations.delete(LOCAL, id, public=True),
        lambda: conversations.note_found(LOCAL, id, Found(picture="p000"), public=True),
        lambda: conversations.results(LOCAL, id, 1, retriever="composer"),
    ]
    for call in refused:
        with pytest.raises(Problem, match="belongs to a study"):
            call()


def test_a_turn_that_another_process_took_first_is_a_conflict_and_then_known(
    open_conversations: OpenConversations, sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_conversations(sqlite), open_conversations(sqlite)
    id = begun(first, said=("red",))
    take_turn = Session.take_turn

    def meanwhile(session: Session, turn: Turn) -> TurnResult:
        monkeypatch.setattr(Session, "take_turn", take_turn)
        second.take(LOCAL, id, SayTurn(say="blue"))
        return take_turn(session, turn)

    monkeypatch.setattr(Session, "take_turn", meanwhile)
    with pytest.raises(Problem, match="from elsewhere") as caught:
        first.take(LOCAL, id, SayTurn(say="green"))
    assert (caught.value.status, caught.value.kind) == (409, "conflict")
    assert [node.told for node in first.tree(LOCAL, id).tree] == ["", '"red"', '"blue"']
    assert first.take(LOCAL, id, SayTurn(say="green")).turn == 3


def test_another_process_goes_on_with_a_conversation(
    conversations: Conversations, colours: Library, sqlite: Database, tmp_path: Path
) -> None:
    id = begun(conversations, questioner="none", said=("red",))
    command = [sys.executable, __file__, str(colours.folder), f"sqlite:///{tmp_path}/server.db", id, "over blue"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert conversations.take(LOCAL, id, SayTurn(say="white")).turn == 3
    there = json.loads(told)
    assert there["turn"] == 2
    assert [hit.model_dump() for hit in conversations.results(LOCAL, id, 2).results] == there["results"]


def test_one_search_is_a_conversation_that_nobody_keeps(conversations: Conversations) -> None:
    found = conversations.search(LOCAL, SearchIn(text="red over blue", without="green", n=3))
    id = begun(conversations, questioner="none", said=("red over blue",))
    kept = conversations.take(LOCAL, id, RejectTurn(reject=[], text="green"))
    assert [hit.id for hit in found.results] == [hit.id for hit in kept.results][:3]
    assert (found.total, found.next, found.verdict) == (64, "3", kept.verdict)
    parts = [entry["parts"] for entry in (found.results[0].why or {})["turns"]]
    assert parts == [["red over blue", 'written of it: "red over blue"'], ["not green"]]
    following = conversations.search(
        LOCAL,
        SearchIn(text="red over blue", without="green", n=2, cursor="3", why=False),
    )
    assert [(hit.rank, hit.id, hit.why) for hit in following.results] == [
        (hit.rank, hit.id, None) for hit in kept.results[3:]
    ]


def test_a_search_by_filters_alone_lists_pictures_by_date(conversations: Conversations) -> None:
    where = {"format": "PNG"}
    first = conversations.search(LOCAL, SearchIn(where=where, n=40))
    second = conversations.search(LOCAL, SearchIn(where=where, n=40, cursor=first.next, why=False))
    assert (first.total, first.next, second.next, first.verdict) == (64, "40", None, "found")
    ranks = [hit.rank for hit in (*first.results, *second.results)]
    assert ranks == list(range(1, 65))
    assert len({hit.id for hit in (*first.results, *second.results)}) == 64
    assert (first.results[0].why, second.results[0].why) == ({"captured": None}, None)


@pytest.mark.parametrize(
    "given", [{}, {"text": " "}, {"without": "red"}, {"like": "p999"}, {"show": "x"}, {"like": "p000", "show": "x"}]
)
def test_a_search_for_nothing_or_for_what_is_not_there_is_refused(
    conversations: Conversations, given: dict[str, str]
) -> None:
    with pytest.raises(BadInput):
        conversations.search(LOCAL, SearchIn.model_validate(given))


def main(folder: str, url: str, id: str, text: str) -> None:
    import viewfinder.library
    from viewfinder.server.database import FeedbackRows, SessionRows, UploadRows
    from viewfinder.server.pictures.uploads import Uploads
    from viewfinder.server.settings import ServerSettings
    from viewfinder.testing import load_colour_encoder

    setattr(viewfinder.library, "load_encoder", load_colour_encoder)  # noqa: B010 (it is not exported)
    database, settings = Database.open(url), ServerSettings(_env_file=None)
    uploads = Uploads(Path(folder) / "uploads", UploadRows(database), settings)
    conversations = Conversations(
        Library.open(Path(folder)), SessionRows(database), FeedbackRows(database), uploads, settings
    )
    print(conversations.take(LOCAL, id, SayTurn(say=text)).model_dump_json())


def test_of_a_token_that_may_only_read_the_last_used_conversations_are_kept(
    open_conversations: OpenConversations, sqlite: Database
) -> None:
    conversations = open_conversations(sqlite, sessions_per_reader=2)
    guest = Caller("guest", frozenset({"read"}))
    first, second, of_ann = begun(conversations, guest), begun(conversations, guest), begun(conversations, ANN)
    conversations.take(guest, first, SayTurn(say="red"))
    third = begun(conversations, guest)
    assert {each.id for each in conversations.page(guest, 10, None).sessions} == {first, third}
    with pytest.raises(Problem, match="there is no"):
        conversations.tree(guest, second)
    assert conversations.tree(ANN, of_ann).id == of_ann


if __name__ == "__main__":
    main(*sys.argv[1:])


def test_an_upload_is_shown_by_whoever_sent_it_and_by_nobody_else(
    open_conversations: OpenConversations, sqlite: Database, tmp_path: Path
) -> None:
    conversations = open_conversations(sqlite)
    image = tmp_path / "arriving"
    Image.fromarray(draw_halves("red", "blue")).save(image, "PNG")
    uploads = Uploads(tmp_path / "uploads", UploadRows(sqlite), ServerSettings(_env_file=None))
    file = uploads.folder / ".arriving.part"
    file.write_bytes(image.read_bytes())
    sent = uploads.accept(ReceivedFile(file, picture_id(file.read_bytes()), file.stat().st_size), ANN)
    for other in (BOB, LOCAL):
        with pytest.raises(UnknownName, match="there is no upload"):
            conversations.take(other, begun(conversations, other), ShowTurn(show=sent.id))
    with pytest.raises(UnknownName, match="there is no upload"):
        conversations.search(BOB, SearchIn(show=sent.id))
    best = conversations.take(ANN, begun(conversations, ANN), ShowTurn(show=sent.id)).results[0]
    assert best.name == "red over blue.png"
    assert conversations.search(ANN, SearchIn(show=sent.id)).results[0].name == best.name
    # Nor does a document that names it bring it to somebody else.
    mine = begun(conversations, ANN)
    conversations.take(ANN, mine, ShowTurn(show=sent.id))
    document = Exported.model_validate_json(conversations.export(ANN, mine).model_dump_json(by_alias=True))
    theirs = conversations.import_(BOB, document).id
    assert conversations.results(BOB, theirs, 1).total == 0
