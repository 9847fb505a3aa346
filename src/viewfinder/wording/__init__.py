"""Every rule of English, below everything that reads sentences.

stems, content   words without inflection; the words that carry what a text says
nouns         a and an, singular and plural, several joined by and
numbers       numbers, ranges and years as people and catalogues write them; numbers in words
clauses       what a sentence wants and rules out; corrections
changes       the values that a "but ..." names
phrases       whether something was said, in whatever inflection
replies       "don't know", and the choices of every question
plain_questions   questions without contractions and politeness, as rules can match them
questions, choices, values, mentions, statements   what makes two questions the same, which answers one offers, which
    values an answer means, what a question takes for granted, a question and its answer as one sentence
back_references, modifications   what is said of earlier pictures
"""
