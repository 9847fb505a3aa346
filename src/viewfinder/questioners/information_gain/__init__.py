"""The questioner `information_gain`: its sources of questions, what they would tell, and which is asked."""
