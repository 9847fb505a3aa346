"""Every rule of English, below everything that reads sentences.

stems         words without inflection
stop_words    words that are left out, one list a purpose
numbers       numbers, ranges and years as people and catalogues write them
clauses       what a sentence wants and rules out; corrections
changes       the values that a "but ..." names
phrases       whether something was said, in whatever inflection
colours       the colours that a text gives to things
replies       "don't know", denials, and the choices of every question
questions, choices, values, mentions, statements, answered   what makes two questions the same, which answers one
    offers, which values an answer means, what a question takes for granted, a question and its answer as one sentence,
    whether a question was answered already
back_references, modifications   what is said of earlier pictures
"""
