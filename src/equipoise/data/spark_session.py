"""The Spark session that a table is counted on: one that runs, the configured cluster, or this machine."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from equipoise.errors import SettingError

__all__ = ["map_in_arrow", "master_of", "session_of"]

CONFIGURED = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "MASTER")
"""Variables by which an installation of Spark says which cluster it belongs to."""

MASTERS = re.compile(r"spark|yarn|local(-cluster)?(\[.*\])?|(spark|k8s)://.+")
"""Addresses of masters that Spark knows."""


def master_of(engine: str, *, is_running: bool) -> str:
    """The master's address; `spark` stays what it is where Spark runs or is configured, and is this machine elsewhere.

    Example:
        >>> master_of("local[2]", is_running=False)
        'local[2]'
        >>> master_of("spark", is_running=True)
        'spark'

    Raises:
        SettingError: it is no address of a master.
    """
    if not MASTERS.fullmatch(engine):  # before Java is started, whose own words are long
        raise SettingError(
            f"engine {engine!r}: give 'spark' (the configured one, or this machine), 'local[2]', 'spark://host:7077',"
            " 'yarn' or 'k8s://...'"
        )
    if engine != "spark" or is_running or any(os.environ.get(name) for name in CONFIGURED):
        return engine
    return "local[*]"


def session_of(engine: Any) -> Any:
    """The Spark session that is meant: a session itself, a master's address, or `spark` (`master_of`).

    Raises:
        SettingError: Spark is not installed, or cannot be started.
    """
    if not isinstance(engine, str):
        return engine
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SettingError('Spark is not installed here: pip install "equipoise[spark]", and a Java runtime') from None
    builder = SparkSession.builder.appName("equipoise")
    engine = master_of(engine, is_running=SparkSession.getActiveSession() is not None)
    if engine != "spark":
        builder = builder.master(engine)
    if engine.startswith("local"):
        package = str(Path(__file__).resolve().parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        builder = builder.config("spark.executorEnv.PYTHONPATH", os.pathsep.join(paths))
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    # What tasks hand to each other lies on the executors' disks for a while: encrypted, by a key that ends with Spark.
    builder = builder.config("spark.io.encryption.enabled", "true").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    try:
        with _without_pandas_warning():
            session = builder.getOrCreate()
    except Exception as error:  # a Java error of the start: no row was read yet
        fault = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SettingError(f"Spark did not start on {engine!r}: {fault}") from None
    return session


@contextmanager
def _without_pandas_warning() -> Iterator[None]:
    """PySpark warns of pandas versions newer than itself, whether or not pandas is used, which here it is not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def map_in_arrow(frame: Any, function: Any, schema: str) -> Any:
    """The frame that `function` makes of each partition's stream of record batches, on the executors."""
    with _without_pandas_warning():
        return frame.mapInArrow(function, schema)
