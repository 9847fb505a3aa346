"""User studies and the review of dialogues, with their pages; mounted by `serve --studies`."""
