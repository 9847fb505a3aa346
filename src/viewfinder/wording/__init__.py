"""Every rule of English, below everything that reads sentences.

stems         words without inflection
stop_words    words that are left out, one list a purpose
nouns         a and an, singular and plural, several joined by and
numbers       numbers, ranges and years as people and catalogues write them; numbers in words
clauses       what a sentence wants and rules out; corrections
changes       the values that a "but ..." names
phrases       whether something was said, in whatever inflection
colours       the colours that a text gives to things
replies       "don't know", denials, and the choices of every question
plain_questions   questions without contractions and politeness, as rules can match them
questions, choices, values, mentions, statements, answered   what makes two questions the same, which answers one
    offers, which values an answer means, what a question takes for granted, a question and its answer as one sentence,
    whether a question was answered already
back_references, modifications   what is said of earlier pictures
"""
