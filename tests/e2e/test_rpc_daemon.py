"""gRPC before the real engine: what is refused leaves nothing, what is acknowledged stays."""
import random
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
