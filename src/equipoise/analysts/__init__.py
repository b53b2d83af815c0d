"""Many analysts, one table: answers that are private for the people in the table and for the analysts' own questions.

    import equipoise as eq

    session = eq.analysts.Session.open(
        table, mode="online", epsilon=1.0, analyst_epsilon=1.0, num_analysts=20, queries_each=500, run="spring"
    )
    session.ask("ada", "sex = Female and age in 30..39", key="request-17")

    made = eq.analysts.answer_round(
        table, {"ada": ["sex = Female", ("age", "sex")], "bob": ["age >= 40"]},
        mode="per-query", epsilon=1.0, analyst_epsilon=1.0, num_analysts=20, queries_each=500,
    )
    made.answers["ada"][0].share

`Session` answers one question at a time, `answer_round` a whole round of analysts at once. What each promises, to whom,
and where the paper it follows (hsu2013differential) is mistaken, is in docs/s004.md.
"""

from equipoise.analysts.answer import Answer, Source
from equipoise.analysts.plan import SessionPlan
from equipoise.analysts.rounds import Round, answer_round
from equipoise.analysts.session import Session
from equipoise.analysts.statistics import Catalogue, Statistic
from equipoise.analysts.status import AnalystUse, Status

__all__ = [
    "AnalystUse",
    "Answer",
    "Catalogue",
    "Round",
    "Session",
    "SessionPlan",
    "Source",
    "Statistic",
    "Status",
    "answer_round",
]
