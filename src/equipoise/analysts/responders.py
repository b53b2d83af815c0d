"""Who answers a query in a session: a hypothesis that is tested first, or noise every time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, NamedTuple, Protocol

from equipoise.analysts.answer import Source
from equipoise.analysts.hypotheses import Hypothesis, Q_contra, to_bytes
from equipoise.analysts.plan import SessionPlan
from equipoise.analysts.world import Q, World
from equipoise.core import Distribution
from equipoise.errors import LedgerConflict
from equipoise.privacy.accountant import cost
from equipoise.privacy.analyst_book import Page, SessionBook, State, Update
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.events import Event, Gaussian
from equipoise.privacy.noise import ExactNoise, Noise
from equipoise.privacy.noisy_stop import NoisyLimit
from equipoise.query_players.asked import AskedPlayer

__all__ = ["Label", "NoiseEach", "Outcome", "Responder", "Tested", "limit_of"]

Label = tuple[str | int, ...]


class Outcome(NamedTuple):
    """An answer in units, how far off it may be as a share, where it comes from, and its part of the cost."""

    value: float
    half_width: float | None
    source: Source
    spent: Fraction


class Responder(Protocol[Q_contra]):
    """Answers one query. With a page, whatever is paid for is written there; without, on a page of its own."""

    def answer(self, analyst: str, label: Label, query: Q_contra, page: Page | None) -> Outcome:
        """Answer a query."""
        ...

    def refresh(self) -> None:
        """Take in what other processes, or this one, have committed.

        Raises:
            LedgerError: the session was closed.
        """
        ...

    def forget(self) -> None:
        """Read everything anew next time: a page was undone."""
        ...

    def distribution(self) -> Distribution:
        """The shared synthetic data."""
        ...


@dataclass
class _Payer:
    """Pays from a page."""

    page: Page
    noise: Noise

    def debit(self, event: Event) -> None:
        self.page.debit(event, number=self.page.state.num_paid)


class NoiseEach(Generic[Q]):
    """Noise on every answer."""

    def __init__(self, book: SessionBook, plan: SessionPlan, player: AskedPlayer[Q], world: World[Q]) -> None:
        self._book, self._plan, self._player, self._world = book, plan, player, world
        self._stddev = float(plan.parameters["stddev"])
        self._price = cost(Gaussian(Fraction(1), Fraction(self._stddev) ** 2)).rho * book.run.rows_per_unit**2

    def answer(self, analyst: str, label: Label, query: Q, page: Page | None) -> Outcome:
        """See `Responder.answer`."""
        with self._book.page() if page is None else nullcontext(page) as written:
            noisy = self._player.measure(_Payer(written, ExactNoise()), query, stddev=self._stddev)
            written.paid(analyst, None)
        return Outcome(float(noisy), self._plan.half_width, "paid", self._price)

    def refresh(self) -> None:
        """See `Responder.refresh`."""
        self._book.state()

    def forget(self) -> None:
        """See `Responder.forget`."""

    def distribution(self) -> Distribution:
        """See `Responder.distribution`: uniform, as nothing is learnt."""
        return self._world.uniform()


def limit_of(plan: SessionPlan) -> NoisyLimit:
    """When an epoch of a plan ends."""
    return NoisyLimit(plan.fraction("stop_epsilon"), plan.number("epoch"), plan.number("margin"))


class Tested(Generic[Q]):
    """A hypothesis that is tested against the table first: Algorithm 5, or private multiplicative weights."""

    def __init__(self, book: SessionBook, plan: SessionPlan, player: AskedPlayer[Q], world: World[Q]) -> None:
        self._book, self._plan, self._player, self._world = book, plan, player, world
        self._tests = WindowTest(book.run, book.noise)
        self._threshold = plan.number("threshold")
        self._price = plan.reserve.rho / plan.max_paid
        self._rate = plan.fraction("rate")
        self._limit = limit_of(plan) if plan.mode == "online" else None
        self.forget()

    def forget(self) -> None:
        """See `Responder.forget`."""
        self._scores = self._world.scores()
        self._hypothesis: Hypothesis[Q] = self._scores.weights(self._rate)
        self._state = State(0, 0, 0, 0, False)

    def refresh(self) -> None:
        """See `Responder.refresh`."""
        state = self._book.state()
        if state.version != self._state.version:
            if self._plan.mode == "pmw":
                self._learn([update for _, update in self._book.updates(self._scores.num_updates)])
                self._hypothesis = self._scores.weights(self._rate)
            else:
                body = self._book.hypothesis(state.version)
                assert body is not None
                self._hypothesis = self._world.sampled(body)
        self._state = state

    def _learn(self, updates: Sequence[Update]) -> None:
        self._scores.add([(self._world.from_text(update.query), update.sign) for update in updates])

    def distribution(self) -> Distribution:
        """See `Responder.distribution`."""
        return self._hypothesis.distribution()

    def answer(self, analyst: str, label: Label, query: Q, page: Page | None) -> Outcome:
        """See `Responder.answer`."""
        around = self._hypothesis.share(query) * self._world.units
        if self._state.halted:
            return Outcome(around, None, "unverified", Fraction(0))
        low, high = math.ceil(around - self._threshold), math.floor(around + self._threshold)
        noisy = self._player.test(self._tests, query, label, low=low, high=high)
        near = Outcome(around, self._plan.half_width, "hypothesis", Fraction(0))
        # A look at the count at every query: one only after hits would tell them.
        if noisy is None and not self._due(self._state):
            return near
        try:
            with self._book.page() if page is None else nullcontext(page) as written:
                if noisy is None:
                    self._advance(written)
                    outcome = near
                else:
                    outcome = self._pay(written, analyst, query, noisy, near)
        except LedgerConflict:
            if page is not None:
                raise
            # Another process closed the session since the last refresh: a refusal here would tell a hit unpaid for.
            return near
        if page is None:
            self.refresh()
        return outcome

    def _due(self, state: State) -> bool:
        return self._limit is not None and self._limit.reached(state.waiting, state.threshold)

    def _pay(self, page: Page, analyst: str, query: Q, noisy: int, near: Outcome) -> Outcome:
        if page.state.num_paid >= self._tests.max_hits:
            # Other processes spent all of it since the last refresh. What was not paid for must look like a test that
            # passed, whose half-width then is too small for once.
            return near
        halted = page.state.halted
        sign = 1 if near.value > noisy else -1
        page.paid(analyst, None if halted else Update(page.state.version, self._world.to_text(query), sign))
        if not halted and (self._limit is None or self._due(page.state)):
            self._advance(page)
        return Outcome(float(noisy), self._plan.paid_half_width, "paid", self._price)

    def _advance(self, page: Page) -> None:
        """Change the hypothesis, on the page of the query after which it is due."""
        state, version = page.state, page.state.version + 1
        if self._limit is None:
            halted = state.num_paid >= self._tests.max_hits
            page.move(state._replace(version=version, waiting=0, halted=halted))
        elif state.version == self._state.version:  # else another process was faster
            self._learn([update for _, update in page.updates(self._scores.num_updates)])
            drawn = self._scores.draw(self._rate / self._limit.limit, self._plan.number("num_samples"))
            halted = version >= self._plan.number("num_epochs")
            page.move(State(version, state.num_paid, 0, self._limit.threshold(), halted), to_bytes(drawn))
