from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.racks import Fabric, NoRoomError, Pool, Racks, Slot

P5 = Pool("us-west-2a/ml.p5.48xlarge", layers=3, leaf_size=4)
GB200 = Pool("us-west-2a/plan", layers=3, leaf_size=18, spares=1, leaves=2, ultraservers=True)


def test_leaves_fill_one_after_the_other() -> None:
    fabric = Fabric()
    assert [fabric.take(P5).leaf for _ in range(10)] == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_a_free_slot_is_taken_first() -> None:
    fabric = Fabric()
    slots = [fabric.take(P5) for _ in range(6)]
    fabric.release(slots[1])
    assert fabric.take(P5) == slots[1]


def test_paths_go_from_the_top_to_the_leaf() -> None:
    fabric = Fabric(Racks(nodes_per_leaf=4, leaves_per_spine=2))
    paths = [fabric.path(fabric.take(P5)) for _ in range(12)]
    assert len({path[0] for path in paths}) == 1
    assert len({path[1] for path in paths}) == 2
    assert len({path[2] for path in paths}) == 3
    assert paths[0][1] == paths[7][1] != paths[8][1], "leaves 0 and 1 share a spine, leaf 2 has the next"


def test_four_layers() -> None:
    fabric = Fabric()
    assert len(fabric.path(fabric.take(Pool("b200", layers=4, leaf_size=4)))) == 4


def test_a_replacement_moves_to_the_next_leaf_with_room() -> None:
    fabric = Fabric()
    slots = [fabric.take(P5) for _ in range(8)]
    assert fabric.move(slots[0]).leaf == 2
    assert fabric.take(P5) == slots[0], "the old slot is free"


def test_the_leaf_of_a_replacement_can_be_chosen() -> None:
    fabric = Fabric()
    slots = [fabric.take(P5) for _ in range(6)]
    assert fabric.move(slots[5], leaf=7).leaf == 7
    with pytest.raises(NoRoomError, match="leaf 0 is full"):
        fabric.move(slots[4], leaf=0)


def test_spares_are_kept_for_replacements_in_the_same_ultraserver() -> None:
    fabric = Fabric()
    slots = [fabric.take(GB200) for _ in range(34)]
    assert [slot.leaf for slot in slots] == [0] * 17 + [1] * 17
    with pytest.raises(NoRoomError, match="2 x 17 slots"):
        fabric.take(GB200)
    moved = fabric.move(slots[3])
    assert (moved.ultraserver_id, moved.position) == (slots[3].ultraserver_id, 17)
    assert moved.ultraserver_id != slots[20].ultraserver_id


@given(st.lists(st.integers(-1, 8), max_size=60))
def test_no_slot_is_given_twice(actions: list[int]) -> None:
    """-1 takes a slot; n moves the n-th taken, or releases it when n is even."""
    fabric = Fabric()
    held: list[Slot] = []
    for action in actions:
        if action < 0 or not held:
            held.append(fabric.take(P5))
        elif action % 2:
            held.append(fabric.move(held.pop(action % len(held))))
        else:
            fabric.release(held.pop(action % len(held)))
        assert len(set(held)) == len(held)
