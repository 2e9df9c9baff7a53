/* Processes that read one key file together: each gets every point once, whatever the others do. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "gpu/gpu_read.h"

#define PIECE ((size_t)1100) /* eleven points of G1, five of G2 */
#define WINDOW ((uint64_t)8000)
#define N_G1 300u
#define N_G2 100u
#define TOTAL ((uint64_t)4 * N_G1 * 96 + N_G2 * 192)
#define SECOND 1000000000u
static const gpu_read_limits patient = {WINDOW, 60ull * SECOND, 60ull * SECOND};

#define N_READERS 3
/* What one reader does and sees; shared with it. */
typedef struct reader {
    /* told */
    unsigned delay_us;                   /* in every piece */
    uint64_t die_at, refuse_at, stop_at; /* bytes; 0: never */
    uint64_t begin_when;                 /* the first reader has that many bytes */
    uint64_t hold_at;                    /* in that piece, until `released` */
    bool cancel_while_waiting;
    /* seen */
    volatile uint64_t n_bytes, first_place;
    volatile bool begun, released, done, holding;
    uint64_t most_ahead; /* of the second reader */
    uint64_t looks;
    bool right; /* every point once, with its bytes */
    cuzk_code code;
    char msg[128];
} reader;

static reader *readers; /* N_READERS, shared */
static gpu_read_group *group;
static char path[] = "/tmp/test_gpu_read_XXXXXX";
static uint8_t file_bytes[TOTAL + 4096];
static size_t file_len;

static void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

static void pause_us(unsigned us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL); }

/* Points that tell where they lie. No one decodes them. */
static void put_section(uint32_t n, size_t size, uint8_t tag)
{
    const uint8_t count[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
                              (uint8_t)n};
    memcpy(file_bytes + file_len, count, 4);
    file_len += 4;
    for (uint32_t i = 0; i < n; i++, file_len += size)
        for (size_t k = 0; k < size; k++)
            file_bytes[file_len + k] = (uint8_t)(tag + i * 7 + (i >> 8) + k);
}

static void write_key(uint32_t n_g1_of_b, uint32_t n_g2)
{
    g16_key *tiny;
    assert_ok(g16_key_open(&tiny, CUZK_GOLDEN_DIR "/tiny.params"));
    file_len = g16_vk_bytes(g16_key_vk(tiny));
    g16_vk_encode(file_bytes, g16_key_vk(tiny));
    g16_key_close(tiny);
    put_section(N_G1, 96, 1);
    put_section(N_G1, 96, 2);
    put_section(N_G1, 96, 3);
    put_section(n_g1_of_b, 96, 4);
    put_section(n_g2, 192, 5);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file_bytes, 1, file_len, f), file_len);
    fclose(f);
}

typedef struct taking {
    reader *self;
    const g16_key *key;
    uint8_t seen[G16_N_SECTIONS][N_G1];
    bool right;
} taking;

static void look_around(reader *self)
{
    if (self != &readers[0] || readers[1].n_bytes >= self->n_bytes)
        return;
    uint64_t a = self->n_bytes - readers[1].n_bytes;
    self->most_ahead = a > self->most_ahead ? a : self->most_ahead;
}

static cuzk_status take(void *ctx, const gpu_read_piece *p)
{
    taking *t = ctx;
    reader *self = t->self;
    size_t size = p->section == G16_B_G2 ? 192 : 96;
    const uint8_t *want = file_bytes + g16_key_get_info(t->key)->offset[p->section];
    if (!self->begun)
        self->first_place = p->section * (uint64_t)N_G1 + p->first;
    self->begun = true;
    t->right = t->right && p->n > 0 && p->n_bytes == p->n * size && p->n_bytes <= PIECE &&
               memcmp(p->bytes, want + p->first * size, p->n_bytes) == 0;
    for (uint64_t i = 0; i < p->n; i++)
        t->right = t->right && t->seen[p->section][p->first + i]++ == 0;
    look_around(self);
    while (self->hold_at && self->n_bytes >= self->hold_at && !self->released) {
        self->holding = true;
        pause_us(100);
    }
    if (self->delay_us)
        pause_us(self->delay_us);
    if (self->die_at && self->n_bytes >= self->die_at)
        _exit(3);
    if (self->stop_at && self->n_bytes >= self->stop_at) {
        self->stop_at = 0;
        raise(SIGSTOP);
    }
    self->n_bytes += p->n_bytes;
    self->looks = 0; /* one is made after every piece */
    if (self->refuse_at && self->n_bytes >= self->refuse_at)
        return cuzk_fail(CUZK_E_INPUT, "key section %d: bad point", (int)p->section);
    return cuzk_ok();
}

static bool on_cancelled(void *ctx)
{
    reader *self = ctx;
    self->looks++;
    return self->cancel_while_waiting && self->looks > 3;
}

static bool has_all(const taking *t)
{
    for (int s = 0; s < G16_N_SECTIONS; s++)
        for (uint32_t i = 0; i < g16_key_get_info(t->key)->n[s]; i++)
            if (t->seen[s][i] != 1)
                return false;
    return t->right;
}

static _Noreturn void read_all(reader *self)
{
    static taking t;
    const run_ctx rc = {.cancelled = on_cancelled, .cancel_ctx = self};
    g16_key *key;
    while (readers[0].n_bytes < self->begin_when)
        pause_us(100);
    cuzk_status st = g16_key_open(&key, path);
    if (st.code == CUZK_OK) {
        t = (taking){.self = self, .key = key, .right = true};
        const gpu_read_file file = gpu_read_file_of_key(key, false);
        const gpu_read_in in = {.file = &file, .piece_bytes = PIECE, .group = group, .rc = &rc};
        st = gpu_read_points(&in, take, &t);
        self->right = has_all(&t);
        g16_key_close(key);
    }
    self->code = st.code;
    snprintf(self->msg, sizeof self->msg, "%s", st.msg);
    self->done = true;
    _exit(0);
}

static pid_t start(int i)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60); /* a reader that waits for ever fails the test */
        read_all(&readers[i]);
    }
    return pid;
}

static void end(pid_t pid, int want_exit)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), want_exit);
}

static void assert_complete(int i)
{
    if (readers[i].code != CUZK_OK)
        fail_msg("reader %d: %s", i, readers[i].msg);
    assert_true(readers[i].right);
    assert_int_equal(readers[i].n_bytes, TOTAL);
}

static void make_group(const gpu_read_limits *l)
{
    gpu_read_group_destroy(group);
    assert_ok(gpu_read_group_create(&group, l));
}

static int set_up(void **state)
{
    (void)state;
    memset(readers, 0, N_READERS * sizeof *readers);
    make_group(&patient);
    return 0;
}

/* The first of two holds in its first piece until the other one has begun. */
static void start_two(pid_t pid[2])
{
    readers[0].hold_at = 1;
    pid[0] = start(0);
    while (!readers[0].holding)
        pause_us(100);
    pid[1] = start(1);
    while (!readers[1].begun)
        pause_us(100);
    readers[0].released = true;
}

static void end_two(const pid_t pid[2])
{
    end(pid[0], 0);
    end(pid[1], 0);
    assert_complete(0);
    assert_complete(1);
}

static void test_one_alone(void **state)
{
    (void)state;
    end(start(0), 0);
    assert_complete(0);
    assert_int_equal(readers[0].first_place, 0);
    gpu_read_counts c = gpu_read_group_counts(group);
    assert_int_equal(c.first_bytes, TOTAL);
    assert_int_equal(c.shared_bytes, 0);
}

/* However slow the second is, the first stays close: what one has read the other finds. */
static void test_fast_one_stays_close_to_slow_one(void **state)
{
    (void)state;
    pid_t pid[2];
    readers[1].delay_us = 300;
    start_two(pid);
    end_two(pid);
    assert_true(readers[0].most_ahead > WINDOW / 2);
    assert_true(readers[0].most_ahead <= WINDOW + 2 * PIECE);
    gpu_read_counts c = gpu_read_group_counts(group);
    assert_int_equal(c.first_bytes + c.shared_bytes, 2 * TOTAL);
    /* at the end the first one has left before the other is there */
    assert_true(c.shared_bytes >= TOTAL - WINDOW - 4 * PIECE);
}

/* It begins where the other is, and reads the beginning last. */
static void test_late_one_joins_in_the_middle(void **state)
{
    (void)state;
    pid_t pid[2];
    readers[0].hold_at = TOTAL / 2;
    readers[1].begin_when = TOTAL / 2;
    pid[0] = start(0);
    pid[1] = start(1);
    while (!readers[1].begun)
        pause_us(100);
    readers[0].released = true;
    end_two(pid);
    assert_true(readers[1].first_place > N_G1);
    gpu_read_counts c = gpu_read_group_counts(group);
    assert_true(c.shared_bytes >= TOTAL / 2 - WINDOW - 4 * PIECE);
}

/* What the first has read by then is in the page cache still: there is no need to go around. */
static void test_slightly_late_one_begins_at_the_start(void **state)
{
    (void)state;
    pid_t pid[2];
    readers[0].hold_at = WINDOW / 2;
    readers[1].begin_when = WINDOW / 2;
    pid[0] = start(0);
    pid[1] = start(1);
    while (!readers[1].begun)
        pause_us(100);
    readers[0].released = true;
    end_two(pid);
    assert_int_equal(readers[1].first_place, 0);
    gpu_read_counts c = gpu_read_group_counts(group);
    assert_true(c.shared_bytes >= TOTAL - WINDOW - 4 * PIECE);
}

static void test_three_at_different_places(void **state)
{
    (void)state;
    pid_t pid[3];
    readers[1].begin_when = TOTAL / 4;
    readers[2].begin_when = TOTAL / 2;
    for (int i = 0; i < 3; i++) {
        readers[i].delay_us = 50u * (unsigned)(1 + i);
        pid[i] = start(i);
    }
    for (int i = 0; i < 3; i++)
        end(pid[i], 0);
    for (int i = 0; i < 3; i++)
        assert_complete(i);
}

static void test_death_in_the_middle(void **state)
{
    (void)state;
    pid_t pid[2];
    make_group(&(gpu_read_limits){WINDOW, SECOND / 20, 60ull * SECOND});
    readers[1].die_at = TOTAL / 3;
    start_two(pid);
    end(pid[1], 3);
    end(pid[0], 0);
    assert_complete(0);
    assert_false(readers[1].done);
    end(start(2), 0); /* the place of the dead one is no hindrance */
    assert_complete(2);
}

static void test_one_that_stands_still(void **state)
{
    (void)state;
    pid_t pid[2];
    int status;
    make_group(&(gpu_read_limits){WINDOW, SECOND / 20, 60ull * SECOND});
    readers[1].stop_at = TOTAL / 3;
    start_two(pid);
    end(pid[0], 0);
    assert_complete(0);
    assert_int_equal(waitpid(pid[1], &status, WUNTRACED), pid[1]);
    assert_true(WIFSTOPPED(status));
    kill(pid[1], SIGCONT);
    end(pid[1], 0);
    assert_complete(1);
}

/* It moves, but so slowly that the other would wait longer than it reads. */
static void test_waiting_is_bounded(void **state)
{
    (void)state;
    pid_t pid[2];
    make_group(&(gpu_read_limits){WINDOW, 60ull * SECOND, SECOND / 20});
    readers[1].delay_us = 20000;
    start_two(pid);
    end(pid[0], 0);
    assert_complete(0);
    assert_true(readers[1].n_bytes < TOTAL / 2);
    kill(pid[1], SIGKILL);
    waitpid(pid[1], NULL, 0);
}

static void test_bad_point_stops_its_reader_only(void **state)
{
    (void)state;
    pid_t pid[2];
    readers[1].refuse_at = TOTAL / 3;
    start_two(pid);
    end(pid[0], 0);
    end(pid[1], 0);
    assert_complete(0);
    assert_int_equal(readers[1].code, CUZK_E_INPUT);
    assert_non_null(strstr(readers[1].msg, "bad point"));
}

static void test_cancel_while_waiting(void **state)
{
    (void)state;
    pid_t pid[2];
    readers[0].cancel_while_waiting = true;
    readers[1].hold_at = TOTAL / 3;
    start_two(pid);
    end(pid[0], 0);
    assert_int_equal(readers[0].code, CUZK_E_CANCELLED);
    assert_non_null(strstr(readers[0].msg, "others"));
    assert_true(readers[0].n_bytes <= TOTAL / 3 + WINDOW + 2 * PIECE);
    readers[1].released = true;
    end(pid[1], 0);
    assert_complete(1);
}

/* A file of fewer windows than readers is not waited in: they could wait for each other. */
static void test_short_files_do_not_wait(void **state)
{
    (void)state;
    pid_t pid[2];
    make_group(&(gpu_read_limits){TOTAL / 2 + 1, 60ull * SECOND, 60ull * SECOND});
    readers[1].hold_at = 1;
    start_two(pid);
    end(pid[0], 0);
    assert_complete(0);
    readers[1].released = true;
    end(pid[1], 0);
    assert_complete(1);
}

/* A file put in the place of another of the same size: the other's places are no points of it. */
static void test_replaced_file_is_read_from_its_start(void **state)
{
    (void)state;
    pid_t pid[2];
    readers[0].hold_at = 3 * N_G1 * 96 + 287 * 96; /* in the last G1 points */
    pid[0] = start(0);
    while (!readers[0].holding)
        pause_us(100);
    unlink(path);
    write_key(N_G1 - 20, N_G2 + 10);
    pid[1] = start(1);
    while (!readers[1].begun)
        pause_us(100);
    readers[0].released = true;
    end(pid[0], 0);
    end(pid[1], 0);
    unlink(path);
    write_key(N_G1, N_G2);
    assert_complete(1);
    assert_int_equal(readers[1].first_place, 0);
}

/* Also while they hold the lock. */
static void test_killed_at_any_time(void **state)
{
    (void)state;
    make_group(&(gpu_read_limits){WINDOW, SECOND / 100, SECOND / 100});
    for (unsigned k = 0; k < 40; k++) {
        memset(readers, 0, N_READERS * sizeof *readers);
        pid_t pid[2] = {start(0), start(1)};
        pause_us(100 + 137 * k);
        for (int i = 0; i < 2; i++) {
            kill(pid[i], SIGKILL);
            waitpid(pid[i], NULL, 0);
        }
    }
    memset(readers, 0, N_READERS * sizeof *readers);
    end(start(0), 0);
    assert_complete(0);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

/* Close behind on the ring, but it has read on: it came from there. */
static void test_no_waiting_for_what_was_read(void **state)
{
    (void)state;
    const run_ctx rc = {.cancelled = always}; /* of whoever waits */
    gpu_reader a, b;
    gpu_reader_join(&a, group, 1, TOTAL);
    gpu_reader_step(&a, 2 * WINDOW);
    gpu_reader_join(&b, group, 1, TOTAL);
    assert_int_equal(b.at, 2 * WINDOW);
    gpu_reader_step(&b, TOTAL - 2 * WINDOW);
    assert_int_equal(b.at, 0);
    gpu_reader_step(&b, WINDOW + PIECE);
    assert_ok(gpu_reader_pace(&a, 2 * PIECE, &rc));
    gpu_reader_leave(&a);
    gpu_reader_leave(&b);
    /* one that came from the start still needs it */
    gpu_reader_join(&a, group, 1, TOTAL);
    gpu_reader_join(&b, group, 1, TOTAL);
    gpu_reader_step(&a, WINDOW - PIECE);
    assert_int_equal(gpu_reader_pace(&a, 2 * PIECE, &rc).code, CUZK_E_CANCELLED);
    gpu_reader_leave(&b);
    assert_ok(gpu_reader_pace(&a, 2 * PIECE, &rc));
    gpu_reader_leave(&a);
}

static void test_more_readers_than_places(void **state)
{
    (void)state;
    static gpu_reader all[65];
    const run_ctx rc = {0};
    for (int i = 0; i < 65; i++) {
        gpu_reader_join(&all[i], group, 1, TOTAL);
        assert_int_equal(all[i].owner != 0, i < 64);
        assert_int_equal(all[i].left, TOTAL);
    }
    assert_ok(gpu_reader_pace(&all[64], TOTAL, &rc)); /* alone, at once */
    gpu_reader_step(&all[64], TOTAL);
    assert_int_equal(all[64].left, 0);
    gpu_reader_leave(&all[3]);
    gpu_reader_join(&all[64], group, 1, TOTAL);
    assert_int_not_equal(all[64].owner, 0);
    for (int i = 0; i < 65; i++)
        gpu_reader_leave(&all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_alone, set_up),
        cmocka_unit_test_setup(test_fast_one_stays_close_to_slow_one, set_up),
        cmocka_unit_test_setup(test_late_one_joins_in_the_middle, set_up),
        cmocka_unit_test_setup(test_slightly_late_one_begins_at_the_start, set_up),
        cmocka_unit_test_setup(test_three_at_different_places, set_up),
        cmocka_unit_test_setup(test_death_in_the_middle, set_up),
        cmocka_unit_test_setup(test_one_that_stands_still, set_up),
        cmocka_unit_test_setup(test_waiting_is_bounded, set_up),
        cmocka_unit_test_setup(test_bad_point_stops_its_reader_only, set_up),
        cmocka_unit_test_setup(test_cancel_while_waiting, set_up),
        cmocka_unit_test_setup(test_short_files_do_not_wait, set_up),
        cmocka_unit_test_setup(test_replaced_file_is_read_from_its_start, set_up),
        cmocka_unit_test_setup(test_killed_at_any_time, set_up),
        cmocka_unit_test_setup(test_no_waiting_for_what_was_read, set_up),
        cmocka_unit_test_setup(test_more_readers_than_places, set_up),
    };
    size_t bytes = N_READERS * sizeof *readers;
    readers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = mkstemp(path);
    if (readers == MAP_FAILED || fd < 0)
        return 1;
    close(fd);
    write_key(N_G1, N_G2);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    gpu_read_group_destroy(group);
    return rc;
}
