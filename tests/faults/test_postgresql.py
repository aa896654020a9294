"""The connection to PostgreSQL is cut at random instants, while deltas and rounds come."""

from __future__ import annotations

import threading
import time

import pytest
from tests.faults.caller import Caller, Failed
from tests.faults.in_process import InProcess
from tests.faults.instants import Instants
from tests.faults.test_store import recovered
from tests.service.conftest import round_of
from tests.service.test_sessions_postgresql import Database, database

pytest.importorskip("psycopg")
__all__ = ["database"]  # the fixture


@pytest.mark.timeout(3600)
def test_the_connection_is_cut(database: Database) -> None:
    from gangplan.service.sessions.postgres_store import PostgresStore

    instants = Instants("PostgreSQL cut", share=0.25)
    store = PostgresStore(database.url)
    try:
        for instant in instants:
            rng = instant.rng
            caller = Caller(InProcess(store), round_of(jobs=4), rng)
            over = threading.Event()
            moments = [rng.uniform(0.0, 0.1) for _ in range(3)]

            def cut(moments: list[float], over: threading.Event) -> None:
                for moment in moments:
                    time.sleep(moment)
                    instants.count("cuts") if database.cut() else None
                over.set()

            cutting = threading.Thread(target=cut, args=(moments, over))
            cutting.start()
            try:
                while not over.is_set():
                    try:
                        caller.step()
                    except Failed:
                        instants.count("calls refused")
                        recovered(caller)
            finally:
                cutting.join()
            instants.recovered.append(recovered(caller))
    finally:
        store.close()
    again = PostgresStore(database.url)
    caller.talk = InProcess(again)
    caller.recover()
    again.close()
