/* The store and other processes: a second one is refused, and one killed at any moment loses nothing
 * that it had acknowledged. The program calls itself for those (`writer`, `opener`). */
#define _GNU_SOURCE /* pipe2 */
#include "store_test.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define PARTS 4u

/* ---- the child ---- */

static void say(const char *what, uint64_t i, uint32_t k)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s %llu %u\n", what, (unsigned long long)i, k);
    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        _exit(4);
}

static void need(cuzk_status st)
{
    if (st.code != CUZK_OK) {
        fprintf(stderr, "writer: %s\n", st.msg);
        _exit(3);
    }
}

/* Blobs of any size, some of them written ahead in stages. */
static size_t blob_len(uint64_t i) { return i % 7 == 3 ? 5u << 20 : 100 + i * 997 % 20000; }

/* Prove what is missing and finish, or cancel every fifth. Every proof is known from i. */
static void end_job(store *s, store_job *j)
{
    uint64_t i = j->view.sector_number;
    uint8_t parts[PARTS][192], proof[192], *blob;
    bool have[PARTS];
    size_t len;
    need(s->ops->get_request(s, j->view.job_id, &blob, &len));
    if (len != blob_len(i))
        _exit(5);
    mem_free(blob);
    need(s->ops->get_partitions(s, j->view.job_id, parts, have, PARTS));
    need(move_to(s, j, JOB_PROVING));
    for (uint32_t k = 0; k < PARTS; k++) {
        make_proof(proof, i, k);
        if (have[k])
            continue;
        need(s->ops->put_partition(s, j->view.job_id, k, proof));
        say("part", i, k);
    }
    if (i % 5 == 4) {
        need(move_to(s, j, JOB_CANCELLED));
        say("cancelled", i, 0);
    } else {
        uint8_t whole[PARTS * 192];
        for (uint32_t k = 0; k < PARTS; k++)
            make_proof(whole + 192 * k, i, k);
        need(s->ops->finish(s, &j->view, whole, sizeof whole));
        say("done", i, 0);
    }
}

static int writer(const char *db, uint64_t first, uint64_t n)
{
    store *s;
    store_job *live;
    uint32_t n_live;
    need(store_sqlite_open(&s, db));
    need(s->ops->recover(s, &live, &n_live));
    uint64_t end = first + n;
    for (uint32_t i = 0; i < n_live; i++) {
        uint64_t number = live[i].view.sector_number; /* its submit may not have been said */
        say("submitted", number, 1);
        first = number + 1 > first ? number + 1 : first;
        end_job(s, &live[i]);
    }
    mem_free(live);
    for (uint64_t i = first; i < end; i++) {
        bool existing;
        store_job j = make_job(i);
        need(submit_blob(s, &j, i, blob_len(i), &existing));
        say("submitted", i, existing);
        if (i % 3 != 2) /* some stay queued until the next start */
            end_job(s, &j);
    }
    need(s->ops->close(s));
    return 0;
}

static int opener(const char *db)
{
    store *s;
    cuzk_status st = store_sqlite_open(&s, db);
    printf("%s %s\n", cuzk_code_name(st.code), st.msg);
    if (st.code == CUZK_OK)
        need(s->ops->close(s));
    return 0;
}

/* ---- the parent ---- */

static pid_t start(int *out, const char *mode, const char *db, uint64_t first, uint64_t n)
{
    int ends[2];
    char a[32], b[32];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(a, sizeof a, "%llu", (unsigned long long)first);
    snprintf(b, sizeof b, "%llu", (unsigned long long)n);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_store_process", mode, db, a, b, (char *)NULL);
        _exit(9);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

static void test_second_process_is_refused(void **state)
{
    (void)state;
    scratch t;
    store *s, *again;
    char link[300], line[600] = "", pid_text[32];
    scratch_make(&t);
    assert_ok(store_sqlite_open(&s, t.db));
    snprintf(link, sizeof link, "%s/alias", t.dir);
    assert_int_equal(symlink(t.db, link), 0);
    snprintf(pid_text, sizeof pid_text, "process %ld", (long)getpid());
    const char *const names[] = {t.db, link};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int fd, status;
        pid_t pid = start(&fd, "opener", names[i], 0, 0);
        ssize_t n = read(fd, line, sizeof line - 1);
        line[n > 0 ? n : 0] = 0;
        close(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        print_message("%s", line);
        assert_non_null(strstr(line, "CUZK_E_IO"));
        assert_non_null(strstr(line, names[i]));
        if (i == 0)
            assert_non_null(strstr(line, pid_text));
    }
    assert_code(store_sqlite_open(&again, t.db), CUZK_E_IO); /* nor twice in one process */
    assert_null(again);
    store_job got;
    assert_code(s->ops->get(s, "x", &got), CUZK_E_NOT_FOUND); /* the owner is not disturbed */
    submit_new(s, 1);
    assert_ok(s->ops->close(s));
    assert_ok(store_sqlite_open(&s, t.db)); /* free again */
    assert_ok(s->ops->close(s));
    snprintf(line, sizeof line, "%s.lock", link);
    unlink(line);
    unlink(link);
    scratch_remove(&t);
}

enum { SUBMITTED = 1, DONE = 2, CANCELLED = 4, PART_0 = 8 };

/* What the children said, by job. */
#define JOBS_MAX 4096u
static uint32_t said[JOBS_MAX];

static void take_line(const char *line, uint64_t *last)
{
    char what[16];
    unsigned long long i;
    unsigned k;
    assert_int_equal(sscanf(line, "%15s %llu %u", what, &i, &k), 3);
    assert_true(i < JOBS_MAX);
    if (strcmp(what, "submitted") == 0) {
        said[i] |= SUBMITTED;
        *last = i + 1 > *last ? i + 1 : *last;
    } else if (strcmp(what, "done") == 0) {
        assert_false(said[i] & (DONE | CANCELLED)); /* never twice */
        said[i] |= DONE;
    } else if (strcmp(what, "cancelled") == 0) {
        said[i] |= CANCELLED;
    } else if (strcmp(what, "part") == 0) {
        assert_false(said[i] & PART_0 << k); /* a stored partition is not proven again */
        said[i] |= PART_0 << k;
    }
}

static void take_output(int fd, uint64_t *last)
{
    FILE *f = fdopen(fd, "r");
    char line[64];
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strchr(line, '\n')) /* a line cut by the kill was not said */
            take_line(line, last);
    fclose(f);
}

static void check_job(store *s, uint64_t i)
{
    char id[32];
    store_job got;
    uint8_t parts[PARTS][192], want[192], *p, *blob;
    bool have[PARTS];
    size_t len;
    snprintf(id, sizeof id, "req-%llu", (unsigned long long)i);
    assert_ok(s->ops->get(s, id, &got));
    assert_int_equal(got.view.sector_number, i);
    if (said[i] & DONE)
        assert_int_equal(got.view.state, JOB_DONE);
    if (said[i] & CANCELLED)
        assert_int_equal(got.view.state, JOB_CANCELLED);
    if (got.view.state == JOB_DONE) {
        assert_ok(s->ops->get_proof(s, id, &p, &len));
        assert_int_equal(len, PARTS * 192);
        for (uint32_t k = 0; k < PARTS; k++) {
            make_proof(want, i, k);
            assert_memory_equal(p + 192 * k, want, 192);
        }
        mem_free(p);
    } else if (!job_state_is_final(got.view.state)) {
        assert_ok(s->ops->get_partitions(s, id, parts, have, PARTS));
        for (uint32_t k = 0; k < PARTS; k++) {
            make_proof(want, i, k);
            assert_true(have[k] || !(said[i] & PART_0 << k));
            if (have[k]) {
                assert_memory_equal(parts[k], want, 192);
                said[i] |= PART_0 << k; /* stored, though the kill cut the line */
            }
        }
        blob = make_blob(i, blob_len(i));
        assert_ok(s->ops->get_request(s, id, &p, &len));
        assert_int_equal(len, blob_len(i));
        assert_memory_equal(p, blob, len);
        mem_free(p);
        free(blob);
    }
}

static void check_all(const char *db)
{
    store *s;
    assert_ok(store_sqlite_open(&s, db));
    for (uint64_t i = 0; i < JOBS_MAX; i++)
        if (said[i] & SUBMITTED)
            check_job(s, i);
    assert_ok(s->ops->close(s));
}

static void test_kill_9_loses_nothing_acknowledged(void **state)
{
    (void)state;
    const char *given = getenv("CUZK_KILLS");
    unsigned n_kills = given ? (unsigned)strtoul(given, NULL, 0) : 3;
    uint64_t seed = test_seed(), next = 0;
    scratch t;
    int fd, status;
    scratch_make(&t);
    for (unsigned i = 0; i < n_kills; i++) {
        pid_t pid = start(&fd, "writer", t.db, next, JOBS_MAX - 100 - next);
        usleep((useconds_t)(20000 + next_random(&seed) % 400000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        take_output(fd, &next);
        check_all(t.db);
    }
    print_message("%u kills, %llu jobs acknowledged\n", n_kills, (unsigned long long)next);
    /* One undisturbed run ends everything that was ever acknowledged; two of them, as the first
     * leaves some of its own queued. */
    for (int i = 0; i < 2; i++) {
        pid_t pid = start(&fd, "writer", t.db, next, i ? 0 : 3);
        take_output(fd, &next);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    check_all(t.db);
    store *s;
    assert_ok(store_sqlite_open(&s, t.db));
    for (uint64_t i = 0; i < next; i++) {
        char id[32];
        store_job got;
        if (!(said[i] & SUBMITTED))
            continue;
        snprintf(id, sizeof id, "req-%llu", (unsigned long long)i);
        assert_ok(s->ops->get(s, id, &got));
        assert_int_equal(got.view.state, i % 5 == 4 ? JOB_CANCELLED : JOB_DONE);
    }
    assert_ok(s->ops->close(s));
    scratch_remove(&t);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "writer") == 0)
        return writer(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    if (argc == 5 && strcmp(argv[1], "opener") == 0)
        return opener(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_process_is_refused),
        cmocka_unit_test(test_kill_9_loses_nothing_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
