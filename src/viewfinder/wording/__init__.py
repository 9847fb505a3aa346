"""Every rule of English, below everything that reads sentences.

stems, content   words without inflection; the words that carry what a text says
numbers       numbers, ranges and years as people and catalogues write them
clauses       what a sentence wants and rules out; corrections
changes       the values that a "but ..." names
phrases       whether something was said, in whatever inflection
replies       "don't know", and the choices of every question
questions, choices, values, mentions, statements   what makes two questions the same, which answers one offers, which
    values an answer means, what a question takes for granted, a question and its answer as one sentence
back_references, modifications   what is said of earlier pictures
"""
