"""Review of constructed dialogues by people."""
