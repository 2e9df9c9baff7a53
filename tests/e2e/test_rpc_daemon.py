"""gRPC before the real engine: what is refused leaves nothing, what is acknowledged stays."""
import contextlib
import json
import random
import sqlite3
import subprocess
import time

import grpc
from daemon_fixtures import keys, make_daemon, messages  # noqa: F401
from daemon_kit import CANCELLED, COMPLETED, POREP, count, window_request, winning_request

Code = grpc.StatusCode
SUBMIT = "/cuzk.v1.ProvingEngine/SubmitProof"


def outcome(future):
    """The answer, or None and the error."""
    try:
        return future.result(timeout=60), None
    except grpc.RpcError as e:
        return None, e


def test_what_exceeds_the_memory_for_requests_can_never_be_admitted(make_daemon):
    limit = 1 << 20
    with make_daemon(config='[scheduler]\nmax_queued_bytes = "1MiB"\n') as d:
        for excess in (1, 1000, 65000, 66000, 300000):
            request = {**window_request(), "vanilla_proofs": [b"x" * (limit + excess)]}
            _, e = outcome(d.method("SubmitProof").future(d.pb.SubmitProofRequest(**request)))
            assert e.code() == Code.FAILED_PRECONDITION, (excess, e)
            assert f"at most {limit}" in e.details() and "grpc-retry-pushback-ms" not in dict(e.trailing_metadata())
        assert not d.submit(winning_request()).existing


def test_the_time_of_the_transport_is_the_jobs(make_daemon):
    """A body that comes late: the job has waited for it, and its tree says so without a gap."""
    with make_daemon() as d:
        body = d.pb.SubmitProofRequest(**winning_request()).SerializeToString()

        def late():
            time.sleep(0.6)
            yield body

        answer = d.pb.SubmitProofResponse.FromString(d.channel.stream_unary(SUBMIT)(late(), timeout=60))
        done = d.wait(answer.job_id)
        assert done.status == COMPLETED and done.queue_wait_ms >= 500 and done.total_ms >= done.queue_wait_ms
        spans = json.loads(d.call("GetTimeline", job_id=answer.job_id).json)["spans"]
        by_name = {s["name"]: s for s in spans if s["parent"] == 1}
        assert by_name["gate"]["start_ms"] == 0 and by_name["receive"]["end_ms"] - by_name["receive"]["start_ms"] >= 500
        assert by_name["receive"]["end_ms"] == by_name["read"]["start_ms"] and by_name["read"]["end_ms"] == by_name["request"]["start_ms"]
        assert spans[0]["unaccounted_ms"] < 50, spans
        seen = d.metrics()
        assert seen["cuzk_rpc_calls_total"] >= 3 and seen["cuzk_rpc_bodies_waiting"] == 0 and seen["cuzk_rpc_connections_total"] >= 1
        _, e = outcome(d.channel.unary_unary(SUBMIT).future(b"\xff", timeout=60))
        assert e.code() == Code.INVALID_ARGUMENT
        assert d.metrics()['cuzk_rpc_refused_total{reason="invalid"}'] == seen['cuzk_rpc_refused_total{reason="invalid"}'] + 1


def test_sector_size_that_is_not_the_proofs_is_refused(make_daemon):
    with make_daemon() as d:
        _, e = outcome(d.method("SubmitProof").future(d.pb.SubmitProofRequest(**{**winning_request(), "sector_size": 34359738368})))
        assert e.code() == Code.INVALID_ARGUMENT
        assert "sector_size: expected 2048, as the proof has it, or 0, found 34359738368" in e.details()


def test_journal_in_use_or_damaged_is_an_error_of_files(cuzk, make_daemon):
    d = make_daemon()
    with d:
        p = subprocess.run([cuzk.path, "daemon", "--config", d.config], env=d.env, capture_output=True, timeout=60, check=False)
        assert p.returncode == 5 and f"is in use by process {d.process.pid}" in p.stderr.decode()
    with contextlib.closing(sqlite3.connect(d.folder / "state/jobs.db")) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET name = CAST(x'ff80' AS TEXT), sql = 'CREATE TABLE nonsense' WHERE name = 'results'")
        db.commit()
    p = subprocess.run([cuzk.path, "daemon", "--config", d.config], env=d.env, capture_output=True, timeout=60, check=False)
    assert p.returncode == 2 and "is damaged" in p.stderr.decode("utf-8"), p.stderr


def test_flood_of_invalid_requests_leaves_the_daemon_flat(make_daemon):
    with make_daemon() as d:
        encode = lambda **fields: d.pb.SubmitProofRequest(**{**winning_request(), **fields}).SerializeToString()  # noqa: E731
        c1 = b'{"SectorNum":1,"Phase1Out":"' + b"A" * 100000 + b'","SectorSize":2048}'
        bodies = [
            b"\xff" * 30,
            encode(randomness=b"x"),
            encode(vanilla_proofs=[b"y" * 80000]),
            encode(proof_kind=POREP, vanilla_proofs=[], vanilla_proof=b"{" * 80000),
            encode(proof_kind=POREP, vanilla_proofs=[], vanilla_proof=c1),
        ]

        def flood(n):
            calls = [d.channel.unary_unary(SUBMIT).future(bodies[k % len(bodies)], timeout=60) for k in range(n)]
            assert {c.code() for c in calls} == {Code.INVALID_ARGUMENT}

        for _ in range(3):
            flood(400)
        before = d.proc()
        for _ in range(6):
            flood(400)
        after = d.proc()
        assert after[0] - before[0] < 64 << 10, f"{before} {after}: 2400 requests had 130 MiB"
        assert after[1] <= before[1] + 1 and after[2] <= before[2] + 1


def test_killed_while_jobs_are_submitted(make_daemon):
    """Every job that was acknowledged is there afterwards, and none twice."""
    dice, d, acknowledged = random.Random(1), make_daemon().start(), set()
    for r in range(count(2, 20)):
        calls = [
            d.method("SubmitProof").future(d.pb.SubmitProofRequest(**{**winning_request(), "request_id": f"{r}-{k}"}), timeout=60) for k in range(60)
        ]
        d.until(lambda calls=calls: sum(c.done() for c in calls) >= 1 + dice.randrange(20), 60)
        time.sleep(dice.uniform(0, 0.05))
        d.kill()
        got = {a.job_id for a, _ in map(outcome, calls) if a}
        acknowledged |= got
        assert 0 < len(got) < 60, "the kill was to come in between"
        d.start()
        ids = [j.job_id for j in d.call("ListJobs", limit=10000).jobs]
        assert acknowledged <= set(ids) and len(ids) == len(set(ids))
        for job_id in got:
            d.call("CancelProof", job_id=job_id)
    done = {d.wait(job_id).status for job_id in acknowledged}
    assert done <= {CANCELLED, COMPLETED}
    d.stop()
