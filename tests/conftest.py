from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests import postgres

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED_DATA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The benchmark tables, which are not part of the project."""
    if not (SHARED_DATA / "adult.parquet").is_file():
        pytest.skip("the benchmark tables (../shared/data) are not on this machine")
    return SHARED_DATA


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT as in a terminal: a shell has its background commands ignore it, and so do the tests that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres_program() -> Iterator[Any]:
    """A real PostgreSQL server on a socket of its own, stopped when the session ends."""
    with postgres.running() as program:
        yield program


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    """A real Spark in this process, with two executor threads and four attempts a task; stopped with the session."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs a Java runtime, and there is none on this machine (`make install` installs one)")
    from equipoise.data.spark_session import session_of

    session = session_of("local[2,4]")
    try:
        yield session
    finally:
        session.stop()


@pytest.fixture(scope="session")
def postgres_server(postgres_program: Any) -> str:
    """The address of the PostgreSQL server."""
    return str(postgres_program.get_uri())


@pytest.fixture
def postgres_database(postgres_server: str, tmp_path: Path) -> Iterator[str]:
    """An empty database of the PostgreSQL server."""
    import sqlalchemy as sa

    from equipoise.privacy.store import url_of

    name = f"ledger_{os.getpid()}_{abs(hash(str(tmp_path))) % 10**9}"
    admin = sa.create_engine(url_of(postgres_server), isolation_level="AUTOCOMMIT", pool_pre_ping=True)
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield postgres_server.replace("/postgres?", f"/{name}?")
    with admin.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty ledger on each of the two databases."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return str(request.getfixturevalue("postgres_database"))
