"""Make people.csv: 20,000 people who do not exist, with columns that depend on each other as in a real survey.

    python examples/make_people.py [FILE]

The same seed gives the same file, byte for byte. Every number here was made up; none was fitted to anyone's data.
"""

from __future__ import annotations

import csv
import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUM_PEOPLE = 20_000
SEED = 20_240_229

EDUCATION = ("none", "primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master or more")
WORK = ("employee", "public service", "self-employed", "student", "unemployed", "homemaker", "retired", "unable")
HEALTH = ("very poor", "poor", "fair", "good", "very good")
# Fifty regions: a front and a back each, largest first.
FRONTS = ("North", "East", "South", "West", "Upper", "Lower", "Old", "New", "High", "Great")
BACKS = ("vale", "mere", "ford", "wick", "march")
REGIONS = tuple(front + back for back in BACKS for front in FRONTS)
COLUMNS = (
    "person_id", "sex", "age", "region", "education", "work", "hours", "income", "household", "bmi", "smoker",
    "health", "registered",
)  # fmt: skip

Floats = NDArray[np.float64]


def choose(rng: np.random.Generator, scores: Floats) -> NDArray[np.int64]:
    """One option a row, with probability proportional to exp(score): the largest score after Gumbel noise."""
    return np.argmax(scores - np.log(-np.log(rng.random(scores.shape))), axis=1)


def level(latent: Floats, cuts: tuple[float, ...]) -> NDArray[np.int64]:
    """The step of an ordered scale that a latent value reaches."""
    return np.searchsorted(np.array(cuts), latent)


def make_people(num_people: int = NUM_PEOPLE, seed: int = SEED) -> dict[str, NDArray[Any]]:
    """The columns as arrays; NaN where a person gave no answer."""
    rng = np.random.default_rng(seed)
    region = rng.choice(len(REGIONS), num_people, p=_region_shares())
    urban = (1.2 - 2.4 * region / len(REGIONS)) + 0.3 * np.sin(region * 1.7)
    wealth = 0.25 * urban + 0.2 * np.cos(region * 2.3)
    female = rng.random(num_people) < 0.51
    age = _ages(rng, urban, female)
    education = _education(rng, age, urban, female)
    work = choose(rng, _work_scores(age, education, female, urban))
    hours = _hours(rng, work, female, age)
    income = _income(rng, work, education, age, hours, wealth, female)
    household = np.clip(1 + rng.poisson(0.4 + 2.0 * np.exp(-(((age - 38) / 16) ** 2)) - 0.15 * (urban > 0)), 1, 8)
    smoker = rng.random(num_people) < 1 / (1 + np.exp(0.2 + 0.22 * education + 0.02 * np.abs(age - 40) + 0.3 * female))
    bmi = 25.5 - 0.35 * education + 0.06 * np.minimum(age - 16, 50) - 0.9 * female - 0.8 * smoker
    bmi = np.clip(np.round(bmi + 3.9 * rng.standard_normal(num_people), 1), 14.0, 50.0)
    health = _health(rng, age, smoker, bmi, income, work)
    registered = _registered(rng, age)
    silent = rng.random((2, num_people))
    return {
        "person_id": np.array([f"P{i:05d}" for i in rng.permutation(100_000)[:num_people]]),
        "sex": np.where(female, "Female", "Male"),
        "age": age,
        "region": np.array(REGIONS)[region],
        "education": np.array(EDUCATION)[education],
        "work": np.array(WORK)[work],
        "hours": hours,
        "income": np.where(silent[0] < 0.03 + 0.08 * (income > 60_000), np.nan, income),
        "household": household,
        "bmi": np.where(silent[1] < 0.07, np.nan, bmi),
        "smoker": smoker,
        "health": np.array(HEALTH)[health],
        "registered": registered,
    }


def _region_shares() -> Floats:
    shares = 1.0 / (np.arange(len(REGIONS)) + 4.0)
    return np.asarray(shares / shares.sum())


def _ages(rng: np.random.Generator, urban: Floats, female: NDArray[np.bool_]) -> NDArray[np.int64]:
    young = 16 + 50 * rng.random(len(urban))
    older = 61 + 13 * rng.standard_normal(len(urban)) + 2.0 * female
    late = rng.random(len(urban)) < 0.45 - 0.08 * urban
    return np.clip(np.where(late, older, young), 16, 95).astype(np.int64)


def _education(
    rng: np.random.Generator, age: NDArray[np.int64], urban: Floats, female: NDArray[np.bool_]
) -> NDArray[np.int64]:
    latent = 0.45 * urban - 0.018 * (age - 45) + 0.25 * female * (age < 45) + rng.standard_normal(len(age))
    reached = level(latent, (-2.2, -1.4, -0.7, 0.15, 0.7, 1.5))
    ceiling = np.select([age < 18, age < 21, age < 24], [2, 4, 5], 6)
    return np.minimum(reached, ceiling)


def _work_scores(age: NDArray[np.int64], education: NDArray[np.int64], female: Any, urban: Floats) -> Floats:
    adult = (age >= 20) & (age < 66)
    scores = [
        2.4 + 0.10 * education - 3.2 * (age >= 66) - 1.5 * (age < 20),
        0.2 + 0.30 * education - 4.0 * (age >= 66) - 2.0 * (age < 20) + 0.4 * female,
        1.2 + 0.02 * (age - 40) - 0.4 * female - 0.3 * urban - 1.0 * (age < 22),
        5.0 - 0.42 * (age - 16) + 0.1 * education,
        0.6 - 0.28 * education + 0.5 * adult - 0.02 * (age - 30) - 3.0 * (age >= 66),
        -0.9 + 1.9 * female - 0.15 * education + 0.6 * adult,
        -9.0 + 0.19 * (age - 16) + 2.2 * (age >= 66),
        0.2 - 0.25 * education + 0.022 * (age - 40),
    ]
    return np.stack(scores, axis=1)


def _hours(rng: np.random.Generator, work: NDArray[np.int64], female: Any, age: Any) -> Floats:
    usual = np.array([38.0, 37.0, 45.0, 12.0])[np.minimum(work, 3)]
    part_time = rng.random(len(work)) < np.where(female, 0.38, 0.1) + 0.15 * (age > 60)
    hours = usual * np.where(part_time & (work != 3), 0.55, 1.0) + 5.0 * rng.standard_normal(len(work))
    return np.where(work <= 3, np.clip(np.round(hours), 1, 79), np.nan)


def _income(
    rng: np.random.Generator, work: Any, education: Any, age: Any, hours: Any, wealth: Any, female: Any
) -> Floats:
    chance = 0.35 * rng.standard_normal(len(age)) + np.where(work == 2, 0.45, 0.0) * rng.standard_normal(len(age))
    earned = 9.55 + 0.14 * education + 0.012 * np.minimum(age - 20, 30) + wealth - 0.08 * female + chance
    earned = earned + 0.02 * (np.nan_to_num(hours) - 35)
    usual = np.array([0.0, 0.05, -0.05, -0.6, 9.1, 8.3, 9.75, 9.2])[work]
    fixed = usual + 0.06 * education + 0.5 * wealth + 0.3 * rng.standard_normal(len(age))
    return np.round(np.exp(np.where(work <= 3, earned + usual, fixed)), 2)


def _health(rng: np.random.Generator, age: Any, smoker: Any, bmi: Any, income: Any, work: Any) -> NDArray[np.int64]:
    latent = 1.9 - 0.028 * (age - 30) - 0.5 * smoker - 0.06 * np.abs(bmi - 23.5) - 1.6 * (work == 7)
    latent = latent + 0.25 * (np.log(income) - 10) + 0.9 * rng.standard_normal(len(age))
    return level(latent, (-1.4, -0.5, 0.5, 1.8))


def _registered(rng: np.random.Generator, age: NDArray[np.int64]) -> NDArray[Any]:
    """Nobody registers before turning 16; more people did in recent years."""
    last = datetime.date(2024, 12, 31)
    longest = np.minimum((age - 15) * 365, 7304)
    ago = (longest * rng.random(len(age)) ** 1.4).astype(np.int64)
    return np.array([(last - datetime.timedelta(int(days))).isoformat() for days in ago])


def cell(column: str, value: Any) -> str:
    """A value as the file shows it; nothing where there is no answer."""
    if isinstance(value, float) and np.isnan(value):
        return ""
    if column == "smoker":
        return "yes" if value else "no"
    if column in ("hours", "age", "household"):
        return str(int(value))
    return f"{value:.2f}" if column == "income" else f"{value:.1f}" if column == "bmi" else str(value)


def write_people(path: Path) -> None:
    """Write the table as CSV."""
    people = make_people()
    rows = zip(*([cell(column, value) for value in people[column].tolist()] for column in COLUMNS), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


if __name__ == "__main__":
    write_people(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("people.csv"))
