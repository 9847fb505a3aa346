import json
import math
from typing import Any

import pytest
import torch

from viewfinder.errors import BadInput
from viewfinder.training import (
    Constant,
    Exponential,
    HalveOnPlateau,
    Noam,
    OneCycle,
    Schedule,
    TrainingSettings,
    WarmupCosine,
)
from viewfinder.training.optimisers import (
    PlateauSchedule,
    TorchSchedule,
    make_optimiser,
    make_schedule,
    warmup_cosine_share,
)


def _made(
    schedule: Schedule, rate: float, total: int | None = None
) -> tuple[torch.optim.Optimizer, TorchSchedule | PlateauSchedule]:
    settings = TrainingSettings(learning_rate=rate, epochs=1, schedule=schedule)
    optimiser = make_optimiser(settings, [torch.nn.Parameter(torch.zeros(1))])
    return optimiser, make_schedule(settings, optimiser, total_steps=total)


def _rates(schedule: Schedule, rate: float, steps: int, *, by: str = "step", total: int | None = None) -> list[float]:
    """The rates of the first steps, one step an epoch."""
    optimiser, running = _made(schedule, rate, total)
    seen = []
    for _ in range(steps):
        seen.append(float(optimiser.param_groups[0]["lr"]))
        optimiser.step()
        running.after_step()
        running.after_epoch({"loss": 1.0})
    return seen


def test_constant_stays() -> None:
    assert _rates(Constant(), 0.5, 3) == [0.5, 0.5, 0.5]


def test_chatirs_rate_falls_by_seven_per_cent_an_epoch_down_to_its_floor() -> None:
    rates = _rates(Exponential(factor=0.93, floor=1e-6), 5e-5, 60)
    assert rates[:3] == pytest.approx([5e-5, 4.65e-5, 4.3245e-5])
    # 5e-5 * 0.93^53 = 1.07e-6 and 0.93^54 gives 0.99e-6: the floor holds from epoch 55 on
    assert rates[53] == pytest.approx(5e-5 * 0.93**53) and rates[54:] == pytest.approx([1e-6] * 6)


def test_noam_rises_in_a_line_and_falls_with_the_root() -> None:
    rates = _rates(Noam(width=4, warmup=4), 2.0, 16)  # 2 * 4^-0.5 = 1: min(s^-0.5, s / 8)
    assert rates[:4] == pytest.approx([1 / 8, 2 / 8, 3 / 8, 1 / 2])
    assert (rates[8], rates[15]) == pytest.approx((1 / 3, 1 / 4))  # steps 9 and 16


def test_noam_of_the_captioner_peaks_after_four_thousand_steps() -> None:
    rates = _rates(Noam(), 2.0, 4001)
    assert max(rates) == rates[3999] == pytest.approx(2 / math.sqrt(512 * 4000))  # 0.0014


def test_warmup_then_half_a_cosine_to_zero() -> None:
    rates = _rates(WarmupCosine(warmup=2), 0.2, 6, total=6)
    # steps 1, 2: 1/2, 1; then (1 + cos(pi k/4)) / 2 for k = 1 .. 4
    assert rates == pytest.approx([0.1, 0.2, 0.1 + 0.1 * math.sqrt(0.5), 0.1, 0.1 - 0.1 * math.sqrt(0.5), 0.0])
    assert warmup_cosine_share(9, warmup=2, total=6) == 0.0


def test_one_cycle_goes_up_and_down_and_the_momentum_the_other_way() -> None:
    optimiser, running = _made(OneCycle(rising=0.4, start_divisor=10.0), 1.0, 10)
    rates, betas = [], []
    for _ in range(10):
        rates.append(optimiser.param_groups[0]["lr"])
        betas.append(optimiser.param_groups[0]["betas"][0])
        optimiser.step()
        running.after_step()
    # up over steps 1 to 4, the last is the smallest: 1/10/10,000
    assert (rates[0], rates[3], rates[9]) == pytest.approx((0.1, 1.0, 1e-5))
    assert (betas[0], betas[3], betas[9]) == pytest.approx((0.95, 0.85, 0.95))
    running.after_step()  # one more than planned does no harm
    assert optimiser.param_groups[0]["lr"] == pytest.approx(1e-5)


@pytest.mark.parametrize("steps", range(1, 21))
def test_one_cycle_of_any_length_never_exceeds_its_rate_and_ends_low(steps: int) -> None:
    optimiser, running = _made(OneCycle(rising=0.1), 1.0, steps)
    rates = []
    for _ in range(steps):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        running.after_step()
    assert max(rates) <= 1.0 + 1e-9
    assert rates[-1] == min(rates) < 0.01


@pytest.mark.parametrize("schedule", [OneCycle(), WarmupCosine(warmup=3)])
def test_a_schedule_over_all_steps_must_know_their_number(schedule: Schedule) -> None:
    with pytest.raises(BadInput, match=f"the schedule {schedule.kind} must know the number of steps"):
        _made(schedule, 1.0)


def _plateau(events: list[Any]) -> list[float]:
    """Rates after each event: a train figure, or "best"."""
    optimiser, running = _made(HalveOnPlateau(figure="score", higher=True), 0.8)
    rates = []
    for event in events:
        if event == "best":
            running.after_validation(best=True)
        else:
            running.after_epoch({"loss": 1.0, "score": event})
        rates.append(optimiser.param_groups[0]["lr"])
    return rates


def test_two_epochs_without_a_thousandth_of_gain_halve_the_rate() -> None:
    # 0.5005 is no gain of 0.001 over 0.5 (counted: 1), 0.6 is one but sets nothing back, 0.6 again is none (2)
    assert _plateau([0.5, 0.5005, 0.6, 0.6]) == [0.8, 0.8, 0.8, 0.4]


def test_after_the_first_halving_every_epoch_without_gain_halves_until_validation_has_a_new_best() -> None:
    assert _plateau([0.5, 0.5, 0.5, 0.5, "best", 0.5, 0.5]) == pytest.approx([0.8, 0.8, 0.4, 0.2, 0.2, 0.2, 0.1])


def test_where_validation_is_watched_every_third_one_without_a_new_best_halves_the_rate() -> None:
    # The counters of the published attribute predictor: a new best does not set the count back, a halving does.
    optimiser, running = _made(HalveOnPlateau(watches="validation", patience=3), 0.8)
    rates = []
    for best in (True, False, False, True, False, False, False, False):
        running.after_epoch({"loss": 1.0})
        running.after_validation(best=best)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([0.8, 0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2])


def test_five_percentiles_that_gain_little_each_gain_enough_together() -> None:
    # Five turns of P, each better by 0.0005: no gain of 0.001 in their mean, one of 0.0025 in their sum.
    mean, total = ([rise * factor for rise in (0, 0.0005, 0.001)] for factor in (1, 5))
    assert _plateau(mean) == [0.8, 0.8, 0.4]
    assert _plateau(total) == [0.8, 0.8, 0.8]


def test_the_best_figure_moves_on_even_by_less_than_a_gain() -> None:
    # 0.5009 is counted, and 0.5018 too: it gains 0.0009 on 0.5009, though 0.0018 on 0.5
    assert _plateau([0.5, 0.5009, 0.5018]) == [0.8, 0.8, 0.4]


def test_a_halving_starts_the_optimiser_afresh_and_four_of_them_end_the_training() -> None:
    settings = TrainingSettings(learning_rate=1.0, epochs=1, schedule=HalveOnPlateau(patience=1))
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = make_optimiser(settings, [weight])
    running = make_schedule(settings, optimiser, total_steps=None)
    weight.grad = torch.ones(1)
    optimiser.step()
    assert optimiser.state[weight]["step"] == 1
    over = []
    for _ in range(5):
        running.after_epoch({"loss": 3.0})
        over.append(running.over)
    assert len(optimiser.state) == 0
    assert over == [False, False, False, False, True]  # 1, 1/2, 1/4, 1/8, and 1/16 is below a tenth


def test_a_plateau_over_a_figure_that_is_not_there_says_what_is() -> None:
    _, running = _made(HalveOnPlateau(figure="score"), 1.0)
    with pytest.raises(BadInput, match="the schedule watches 'score'; the training has: loss"):
        running.after_epoch({"loss": 1.0})


@pytest.mark.parametrize(
    "schedule", [Constant(), Exponential(), Noam(warmup=5), WarmupCosine(warmup=3), OneCycle(), HalveOnPlateau()]
)
def test_a_schedule_goes_on_from_its_state_as_json(schedule: Schedule) -> None:
    first, running = _made(schedule, 1.0, 12)
    second, resumed = _made(schedule, 1.0, 12)
    for step in range(11):
        if step == 5:
            second.load_state_dict(first.state_dict())
            resumed.load(json.loads(json.dumps(running.state())))
        for optimiser, moved in ((first, running), (second, resumed)):
            if step >= 5 or moved is running:
                optimiser.step()
                moved.after_step()
                moved.after_epoch({"loss": 2.0})
        if step >= 5:
            assert first.param_groups[0]["lr"] == second.param_groups[0]["lr"]
