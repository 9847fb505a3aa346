import json

import pytest
import torch
from torch import nn

from viewfinder.training import TrainingSettings
from viewfinder.training.checkpoints import optimiser_state, set_optimiser_state
from viewfinder.training.optimisers import make_optimiser


def _step(optimiser: torch.optim.Optimizer, parameters: list[nn.Parameter], number: int) -> None:
    for index, parameter in enumerate(parameters):
        parameter.grad = torch.full_like(parameter, float(number + index)) if index != number % 3 else None
    optimiser.step()


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_an_optimiser_goes_on_bit_for_bit_from_tensors_and_json(name: str) -> None:
    settings = TrainingSettings(learning_rate=0.1, epochs=1, optimiser=name, betas=(0.9, 0.98), weight_decay=0.01)  # type: ignore[arg-type]
    first = [nn.Parameter(torch.ones(2)) for _ in range(3)]
    optimiser = make_optimiser(settings, first)
    _step(optimiser, first, 0)  # the first parameter has no state yet
    tensors, record = optimiser_state(optimiser)
    second = [nn.Parameter(parameter.detach().clone()) for parameter in first]
    resumed = make_optimiser(settings, second)
    copies = {key: tensor.clone() for key, tensor in tensors.items()}
    set_optimiser_state(resumed, copies, json.loads(json.dumps(record)))
    for number in (1, 2, 3):
        _step(optimiser, first, number)
        _step(resumed, second, number)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert resumed.param_groups[0]["betas"] == (0.9, 0.98)
