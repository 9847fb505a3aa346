"""What frames a description in what people say: classes of words, and rules where it begins and ends."""
