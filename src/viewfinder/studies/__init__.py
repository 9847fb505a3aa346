"""Studies with people, and the review of constructed dialogues; `serve --studies` and `review` serve them.

plan       what a study asks, as schemas; who looks for which picture with which retriever
studies    `Studies`: taking part, trial by trial
figures    what a study came to, and its export
routes     the same over HTTP
extension  all of it as a part of the server
reviewing  dialogues before a person: accept, reject, rewrite
"""
