"""A session: a steward opens it on a table, analysts ask, one query after the other, for as long as it lasts.

What is durable, and why that is enough. A test that finds the hypothesis near (most tests, once it has learnt)
changes nothing and is paid for already: conditional release (P9) allows any number of them. So such an answer is not
written down unless it has a key. What is written, before anybody sees it, in one transaction: a paid answer with its
count against the paid ones, its update, and, when an epoch ends, the next hypothesis and quota. Queries are counted
in memory, from blocks that are set aside in the ledger first; a crash loses the rest of a block to the analyst, so
never more queries are answered than the half-widths allow for. A process that does not know yet that another one
changed the hypothesis tests against the older one: as private, and as right within its half-width.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.analysts.allowances import Allowances
from equipoise.analysts.answer import Answer
from equipoise.analysts.asking import Asked
from equipoise.analysts.choice import plan_session
from equipoise.analysts.hypotheses import memory_bytes
from equipoise.analysts.opening import accounts_of, checked_id, checked_name, read_and_open, statement_of
from equipoise.analysts.plan import Mode, SessionPlan
from equipoise.analysts.responders import Label, NoiseEach, Responder, Tested, limit_of
from equipoise.analysts.statistics import Catalogue, Tables, plan_statistics
from equipoise.analysts.status import AnalystUse, Status
from equipoise.analysts.terms import Terms, terms_of
from equipoise.analysts.world import Records, World
from equipoise.core import Distribution
from equipoise.data.table import Table
from equipoise.errors import BudgetError, CapacityError, SettingError
from equipoise.pipeline import DEFAULT_MEMORY
from equipoise.privacy.analyst_book import Page, SessionBook, State
from equipoise.queries.query import Query
from equipoise.query_players.asked import AskedPlayer, AskedQueries, AskedStatistics

__all__ = ["Session"]

REFRESH_SECONDS = 0.1
"""How long a process may go on with a hypothesis that another one has replaced."""

PROTECTS = (
    "one query of one analyst, from all other analysts together, whatever they share; for queries that do not depend on"
    " answers"
)


class Session:
    """Answers analysts' queries one at a time, from a shared hypothesis while it is right, with noise when it is not.

    Safe for threads, and for several processes that open the same `run` of one ledger.

    Attributes:
        run: The session's id in the ledger: open it with this id again to go on after a stop or a crash.
        plan: What it does and costs.

    Example:
        >>> import pyarrow as pa
        >>> import equipoise as eq
        >>> from equipoise.data.listed import Boolean
        >>> schema = eq.Schema("pets", (Boolean(name="cat"), Boolean(name="dog")))
        >>> pets = eq.read(pa.table({"cat": [True, False] * 500, "dog": [True] * 1000}), schema=schema)
        >>> session = eq.analysts.Session.open(
        ...     pets, mode="noise", epsilon=1.0, analyst_epsilon=1.0, num_analysts=2, queries_each=5
        ... )
        >>> answer = session.ask("ada", "cat = true")
        >>> answer.source, answer.left, abs(answer.share - 0.5) <= answer.half_width
        ('paid', 4, True)
    """

    def __init__(
        self,
        table: Table,
        terms: Terms,
        plan: SessionPlan,
        book: SessionBook,
        responder: Responder[Any],
        world: World[Any],
    ) -> None:
        self.run, self.plan = book.run.key, plan
        self._table, self._terms, self._book = table, terms, book
        self._responder, self._world = responder, world
        self._lock = threading.RLock()
        self._seen = -math.inf
        self._allowances = Allowances(
            book, limit=terms.queries_each, num_places=terms.num_analysts, exact=plan.mode == "noise"
        )

    @classmethod
    def open(
        cls,
        table: Table,
        *,
        epsilon: float,
        analyst_epsilon: float,
        num_analysts: int,
        queries_each: int,
        mode: Mode = "online",
        catalogue: Catalogue | None = None,
        delta: float | None = None,
        analyst_delta: float | None = None,
        analyst_total: tuple[float, float] | None = None,
        run: str | None = None,
        ledger: str | Path | None = None,
        accept_inferred: bool = False,
        memory_limit: int = DEFAULT_MEMORY,
    ) -> Session:
        """Open a session, or the one that the ledger has under `run`; reads the table once and charges the ledger once.

        Args:
            table: The private table.
            epsilon: Data budget of the session.
            analyst_epsilon: Budget that protects the analysts from each other; modes "noise" and "pmw" use none of it.
            num_analysts: How many analysts may take part; public.
            queries_each: How many queries each may ask; public. A cell of a marginal counts as one.
            mode: "online" (private for analysts too), "pmw" (for the people in the table only), "noise" (every answer
                with noise of its own).
            catalogue: Statistics of whole tables, to be asked for by name instead of queries; toys only.
            delta: 1/n^2 unless given.
            analyst_delta: 1/k^2 unless given, k the number of all analysts' queries.
            analyst_total: Total (epsilon, delta) of the analysts' account in the ledger, declared on first use.
            run: The session's id; drawn when not given.
            ledger: Path or URL; by default the schema's.
            accept_inferred: Accept bounds and categories that were read from the data.
            memory_limit: Bytes that the hypothesis may use.

        Raises:
            BudgetError: a ledger does not cover it; nothing was spent.
            SettingError: a number is out of range.
            LedgerError: the id is of a session with other settings, or of one that was closed.
            CapacityError: the domain is too large for a hypothesis, or for statistics.
        """
        terms = terms_of(
            table,
            epsilon=epsilon,
            delta=delta,
            analyst_epsilon=analyst_epsilon,
            analyst_delta=analyst_delta,
            num_analysts=num_analysts,
            queries_each=queries_each,
            accept_inferred=accept_inferred,
            analyst_total=analyst_total,
        )
        tables = None if catalogue is None else Tables(catalogue, table.schema)
        plan = plan_session(terms, mode) if tables is None else plan_statistics(terms, mode, tables)
        domain = table.schema.domain
        if tables is None and plan.mode != "noise" and memory_bytes(domain.num_cells) > memory_limit:
            raise CapacityError(
                f"a hypothesis over {domain.num_cells:,} cells does not fit the memory limit; name fewer columns,"
                " declare fewer bins, or use mode 'noise', which has no hypothesis"
            )
        accounts = accounts_of(table, ledger=ledger, analyst_total=analyst_total, run=run)
        book, rows = read_and_open(
            table,
            terms,
            accounts,
            run=checked_id(run),
            plan=plan.to_json(),
            reserve=plan.reserve,
            events=plan.events,
            analyst_events=plan.analyst_events,
            first=State(0, 0, 0, limit_of(plan).threshold() if plan.mode == "online" else 0, False),
        )
        world: World[Any] = Records(table.schema, terms.num_rows) if tables is None else tables
        player: AskedPlayer[Any] = AskedQueries(rows)
        if tables is not None:
            player = AskedStatistics(rows.statistics([each.value for each in tables.statistics], tables.units))
        kind: type[NoiseEach[Any]] | type[Tested[Any]] = NoiseEach if plan.mode == "noise" else Tested
        return cls(table, terms, plan, book, kind(book, plan, player, world), world)

    def ask(self, analyst: str, query: str | Query, *, key: str | None = None) -> Answer:
        """Answer one query.

        Args:
            analyst: Who asks; a new name takes one of the session's places.
            query: Text form, such as "sex = Female and age in 30..39", or a `Query`.
            key: With a key the answer is kept: asked again by this analyst with the same key and query, also after a
                crash, it is the same and costs nothing. Without one, a free answer leaves no trace in the ledger and
                is faster.

        Raises:
            BudgetError: the analyst has no queries left, or all places are taken.
            QueryError: the text does not parse or does not fit the schema; nothing was counted.
            SettingError: the key was used for another query.
        """
        return self.ask_many(analyst, [query], key=key)[0]

    def ask_many(self, analyst: str, queries: Sequence[Asked], *, key: str | None = None) -> list[Answer]:
        """Answer several queries; a list of column names stands for all cells of their marginal, in order.

        With a key, all of it is one request: repeated, it gives the same list. Without one, an error on the way leaves
        the answers before it paid for and lost.
        """
        checked_name("an analyst's name", analyst)
        parsed = self._world.parse(queries, self._terms.queries_each)
        with self._lock:
            try:
                self._refresh()
                if key is not None:
                    return self._keyed(analyst, parsed, checked_name("a key", key))
                if self.plan.mode == "noise":  # every answer is written down anyway
                    with self._book.page() as page:
                        return self._on(page, analyst, parsed, "")
                numbers, left = self._allowances.take(analyst, len(parsed))
                return [
                    self._answer(analyst, (analyst, "number", number), each, left + len(parsed) - 1 - i, None)
                    for i, (number, each) in enumerate(zip(numbers, parsed, strict=True))
                ]
            except (BudgetError, SettingError):
                raise
            except BaseException:  # a page may have been undone after the hypothesis changed in memory
                self._responder.forget()
                self._seen = -math.inf
                raise

    def _keyed(self, analyst: str, parsed: Sequence[tuple[Any, str]], key: str) -> list[Answer]:
        asked = "; ".join(self._world.to_text(query) for query, _ in parsed)
        kept = self._book.kept(analyst, key)
        if kept is None:
            with self._book.page() as page:
                kept = page.kept(analyst, key)
                if kept is None:
                    body = json.dumps([answer.to_json() for answer in self._on(page, analyst, parsed, key)])
                    page.keep(analyst, key, asked, body)
                    kept = asked, body
            self._seen = -math.inf
        if kept[0] != asked:
            raise SettingError("this key was used for another query; a new query needs a new key")
        return [Answer.from_json(body) for body in json.loads(kept[1])]

    def _on(self, page: Page, analyst: str, parsed: Sequence[tuple[Any, str]], key: str) -> list[Answer]:
        """Answers that are counted, and where they are not free paid for, on one page."""
        left = self._allowances.take_on(page, analyst, len(parsed)) + len(parsed)
        return [
            self._answer(analyst, (analyst, "key", key, i), each, left - 1 - i, page) for i, each in enumerate(parsed)
        ]

    def _answer(self, analyst: str, label: Label, asked: tuple[Any, str], left: int, page: Page | None) -> Answer:
        query, text = asked[0], asked[1] or self._world.describe(asked[0])
        outcome = self._responder.answer(analyst, (*label, self._world.to_text(query)), query, page)
        num_rows = self._terms.num_rows
        share = min(1.0, max(0.0, outcome.value / self._world.units))
        return Answer(text, share, share * num_rows, outcome.half_width, outcome.source, outcome.spent, left)

    def _refresh(self) -> None:
        """See now and then what other processes have done; in between, this one's own changes are all there are."""
        now = time.monotonic()
        if now - self._seen > REFRESH_SECONDS:
            self._responder.refresh()
            self._seen = now

    def left(self, analyst: str) -> int:
        """How many queries an analyst may still ask."""
        with self._lock:
            return self._allowances.left(analyst)

    def hypothesis(self) -> Distribution:
        """The shared synthetic data of the moment: free to publish to all analysts. Uniform in mode "noise"."""
        with self._lock:
            self._responder.refresh()
            return self._responder.distribution()

    def status(self) -> Status:
        """How far the session has come. For the steward only."""
        state = self._book.state()
        used = {name: AnalystUse(leased, paid) for name, (leased, paid) in self._book.places().items()}
        return Status(state.num_paid, state.version, state.halted, used)

    def statement(self) -> dict[str, Any]:
        """The guarantee to people and to analysts, machine-readable, from what the ledgers were charged."""
        protects = PROTECTS if self.plan.protects_analysts else "nothing: analysts can learn of each other's queries"
        made = statement_of(self._table, self._terms, self._book, self.plan.to_json(), protects)
        if isinstance(self._world, Tables):
            word = f"That a record moves no statistic by more than 1/{self._world.units} is the steward's word."
            made["outside_the_guarantee"].append(word)
        return made

    def close(self) -> None:
        """End the session for everybody: no further query is answered; what it did not spend is free again."""
        with self._lock:
            self._book.run.finish()
            self._book.analysts.finish()
            self._book.release()
            self._seen = -math.inf
