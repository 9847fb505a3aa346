"""Low-rank adapters in a language model (Hu et al. 2021), by peft. In torch."""

from __future__ import annotations

from typing import Any

from torch import nn

from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.settings import LoraSettings


def add_lora(language: nn.Module, lora: LoraSettings) -> None:
    """Puts adapters beside the linear maps that the settings name; it computes as before until they have learnt.

    Nothing of it but the adapters needs gradients afterwards. A map becomes W + alpha / rank * B A, by the names
    `q_proj.base_layer.weight`, `q_proj.lora_A.default.weight` and `q_proj.lora_B.default.weight`.

    Raises:
        BadInput: a name that no linear map ends with.
    """
    from peft import LoraConfig, inject_adapter_in_model

    ends = {name.rpartition(".")[2] for name, part in language.named_modules() if isinstance(part, nn.Linear)}
    if unknown := [name for name in lora.modules if name not in ends]:
        raise BadInput(
            f"model.lora.modules: the language model has no linear maps {', '.join(unknown)}; name some of "
            f"{', '.join(sorted(ends))}"
        )
    settings: Any = LoraConfig  # which says that alpha is whole, and divides it by the rank alone
    inject_adapter_in_model(settings(r=lora.rank, lora_alpha=lora.alpha, target_modules=list(lora.modules)), language)
