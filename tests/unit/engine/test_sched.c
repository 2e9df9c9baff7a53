/* The order of jobs, with the clock as an argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/sched.h"

/* Jobs are names. */
typedef struct want {
    const char *no_room[8]; /* these do not fit */
    bool no_slot, no_slot_for_bulk;
    const char *no_device; /* jobs of this circuit have none */
} want;

static sched_fit fit(void *ctx, const sched_entry *e)
{
    const want *w = ctx;
    if (w && (w->no_slot || (w->no_slot_for_bulk && e->priority < JOB_HIGH)))
        return SCHED_NO_SLOT;
    if (w && w->no_device && strcmp(w->no_device, e->circuit) == 0)
        return SCHED_NO_DEVICE;
    for (size_t i = 0; w && i < ARRAY_LEN(w->no_room) && w->no_room[i]; i++)
        if (strcmp(w->no_room[i], e->job) == 0)
            return SCHED_NO_ROOM;
    return SCHED_FITS;
}

static void add(sched *s, const char *name, job_priority p, uint64_t deadline, uint64_t now)
{
    sched_entry e = {.job = (void *)(uintptr_t)name,
                     .priority = p,
                     .deadline_unix_ms = deadline,
                     .queued_ms = now};
    snprintf(e.circuit, sizeof e.circuit, "%c", name[0]);
    e.kind = name[0] == 'w' ? PROOF_WINNING : PROOF_POREP;
    assert_int_equal(sched_add(s, &e).code, CUZK_OK);
}

static void expect(sched *s, const char *name, uint64_t now, const want *w)
{
    const char *got = sched_take(s, now, fit, (void *)(uintptr_t)w);
    if ((got == NULL) != (name == NULL) || (name && strcmp(got, name) != 0))
        fail_msg("at %llu: expected %s, got %s", (unsigned long long)now, name ? name : "nothing",
                 got ? got : "nothing");
}

static void test_class_then_deadline_then_arrival(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){0});
    add(&s, "p-low", JOB_LOW, 1, 0);
    add(&s, "p-normal-1", JOB_NORMAL, 0, 0);
    add(&s, "p-normal-2", JOB_NORMAL, 0, 0);
    add(&s, "p-normal-late", JOB_NORMAL, 900, 0);
    add(&s, "p-normal-soon", JOB_NORMAL, 100, 0);
    add(&s, "w-critical", JOB_CRITICAL, 0, 0);
    add(&s, "p-high", JOB_HIGH, 0, 0);
    static const char *const order[] = {"w-critical",    "p-high",     "p-normal-soon",
                                        "p-normal-late", "p-normal-1", "p-normal-2",
                                        "p-low"};
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        expect(&s, order[i], 0, NULL);
    expect(&s, NULL, 0, NULL);
    sched_fini(&s);
}

static void test_position_counts_those_before(void **state)
{
    (void)state;
    sched s;
    static const char a[] = "p-a", b[] = "p-b", c[] = "p-c", x[] = "p-x";
    sched_init(&s, &(sched_limits){.ageing_ms = 100});
    add(&s, a, JOB_LOW, 0, 0);
    add(&s, b, JOB_NORMAL, 0, 60);
    add(&s, c, JOB_CRITICAL, 0, 60);
    assert_int_equal(sched_position(&s, a, 60), 2);
    assert_int_equal(sched_position(&s, b, 60), 1);
    assert_int_equal(sched_position(&s, c, 60), 0);
    assert_int_equal(sched_position(&s, a, 100), 1); /* as old as NORMAL now, and first come */
    assert_int_equal(sched_position(&s, x, 0), UINT32_MAX);
    assert_true(sched_remove(&s, c));
    assert_false(sched_remove(&s, c));
    assert_int_equal(sched_position(&s, b, 60), 0);
    sched_fini(&s);
}

static void test_ageing_lifts_to_high_and_not_further(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){.ageing_ms = 1000, .patience_ms = 100000});
    add(&s, "p-old-low", JOB_LOW, 0, 0);
    add(&s, "p-normal", JOB_NORMAL, 0, 1500);
    assert_int_equal(sched_next_event_ms(&s, 1500), 2000); /* the old one gets older */
    expect(&s, "p-normal", 2499, &(want){.no_room = {"p-old-low"}});
    add(&s, "p-high", JOB_HIGH, 0, 2000);
    expect(&s, "p-old-low", 2500, NULL); /* HIGH by age, and first come */
    expect(&s, "p-high", 2500, NULL);
    add(&s, "p-ancient", JOB_LOW, 1, 0);
    add(&s, "w-critical", JOB_CRITICAL, 0, 1000000);
    expect(&s, "w-critical", 1000000, NULL);
    expect(&s, "p-ancient", 1000000, NULL);
    sched_fini(&s);
}

static void test_kind_limits_hold_back_only_their_kind(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){.max_active = {[PROOF_POREP] = 2}});
    add(&s, "p-1", JOB_NORMAL, 0, 0);
    add(&s, "p-2", JOB_NORMAL, 0, 0);
    add(&s, "p-3", JOB_NORMAL, 0, 0);
    add(&s, "w-1", JOB_LOW, 0, 0);
    expect(&s, "p-1", 0, NULL);
    expect(&s, "p-2", 0, NULL);
    expect(&s, "w-1", 0, NULL);
    expect(&s, NULL, 0, NULL);
    sched_done(&s, PROOF_POREP);
    expect(&s, "p-3", 0, NULL);
    sched_fini(&s);
}

static void test_what_does_not_fit_is_passed_until_patience_ends(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){.patience_ms = 500});
    want w = {.no_room = {"p-big"}};
    add(&s, "p-big", JOB_HIGH, 0, 0);
    add(&s, "p-1", JOB_NORMAL, 0, 0);
    add(&s, "p-2", JOB_NORMAL, 0, 0);
    add(&s, "w-c", JOB_CRITICAL, 0, 0);
    expect(&s, "w-c", 100, &w);
    expect(&s, "p-1", 100, &w);
    assert_int_equal(sched_next_event_ms(&s, 100), 600);
    expect(&s, NULL, 600, &w); /* nothing overtakes any more */
    add(&s, "w-c2", JOB_CRITICAL, 0, 700);
    expect(&s, "w-c2", 700, &w); /* except what is more urgent */
    expect(&s, "p-big", 700, NULL);
    expect(&s, "p-2", 700, &w);
    sched_fini(&s);
}

static void test_no_slot_stops_the_search(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){0});
    add(&s, "p-1", JOB_NORMAL, 0, 0);
    expect(&s, NULL, 0, &(want){.no_slot = true});
    assert_int_equal(s.e[0].blocked_since_ms, 0);
    expect(&s, "p-1", 0, NULL);
    sched_fini(&s);
}

static void test_batches_wait_for_size_or_time(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){.max_batch_size = 3, .max_batch_wait_ms = 1000});
    add(&s, "p-1", JOB_NORMAL, 0, 0);
    expect(&s, NULL, 0, NULL);
    assert_int_equal(sched_next_event_ms(&s, 0), 1000);
    add(&s, "w-urgent", JOB_CRITICAL, 0, 10);
    expect(&s, "w-urgent", 10, NULL); /* urgent ones never wait */
    add(&s, "p-2", JOB_NORMAL, 0, 10);
    expect(&s, NULL, 20, NULL);
    add(&s, "p-3", JOB_NORMAL, 0, 20);
    add(&s, "p-4", JOB_NORMAL, 0, 20);
    expect(&s, "p-1", 20, NULL); /* full: three go, the fourth waits */
    expect(&s, "p-2", 20, NULL);
    expect(&s, "p-3", 20, NULL);
    expect(&s, NULL, 20, NULL);
    expect(&s, NULL, 1019, NULL);
    expect(&s, "p-4", 1020, NULL); /* alone, but waited long enough */
    sched_fini(&s);
}

static void test_another_circuit_does_not_fill_a_batch(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){.max_batch_size = 2, .max_batch_wait_ms = 1000});
    add(&s, "p-1", JOB_NORMAL, 0, 0);
    add(&s, "q-1", JOB_NORMAL, 0, 0);
    expect(&s, NULL, 0, NULL);
    add(&s, "q-2", JOB_NORMAL, 0, 0);
    expect(&s, "q-1", 0, NULL);
    expect(&s, "q-2", 0, NULL);
    expect(&s, NULL, 0, NULL);
    sched_fini(&s);
}

static void test_a_job_that_goes_back_keeps_its_place(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){0});
    add(&s, "p-1", JOB_NORMAL, 0, 0);
    add(&s, "p-2", JOB_NORMAL, 0, 0);
    sched_entry first = s.e[0];
    expect(&s, "p-1", 0, NULL);
    sched_done(&s, PROOF_POREP);
    assert_int_equal(sched_add(&s, &first).code, CUZK_OK);
    expect(&s, "p-1", 0, NULL);
    sched_fini(&s);
}

/* Against a sort of the same rank, for many random queues. */
static void test_taking_all_is_sorting_by_rank(void **state)
{
    (void)state;
    static char names[40][16];
    for (unsigned seed = 1; seed < 200; seed++) {
        unsigned r = seed;
        sched s;
        sched_init(&s, &(sched_limits){.ageing_ms = 50});
        uint32_t n = 1 + (uint32_t)(rand_r(&r) % 40);
        for (uint32_t i = 0; i < n; i++) {
            snprintf(names[i], sizeof names[i], "p%u", i);
            add(&s, names[i], (job_priority)(rand_r(&r) % JOB_N_PRIORITIES),
                (uint64_t)(rand_r(&r) % 4), (uint64_t)(rand_r(&r) % 100));
        }
        sched_rank last = {0};
        for (uint32_t i = 0; i < n; i++) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < s.n; k++) {
                sched_rank a = sched_entry_rank(&s, &s.e[k], 120),
                           b = sched_entry_rank(&s, &s.e[best], 120);
                if (sched_rank_before(&a, &b))
                    best = k;
            }
            sched_rank rank = sched_entry_rank(&s, &s.e[best], 120);
            if (i && !sched_rank_before(&last, &rank))
                fail_msg("seed %u: rank went back at %u", seed, i);
            last = rank;
            expect(&s, s.e[best].job, 120, NULL);
        }
        sched_fini(&s);
    }
}

static void test_out_of_memory_is_reported(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){0});
    mem_fail_nth(1);
    assert_int_equal(sched_add(&s, &(sched_entry){0}).code, CUZK_E_NOMEM);
    mem_fail_nth(0);
    assert_int_equal(s.n, 0);
    sched_fini(&s);
}

/* A circuit whose devices are sick does not stop others, whatever its job's class and age. */
static void test_a_job_without_a_device_stops_nobody(void **state)
{
    (void)state;
    static const want sick = {.no_device = "p"};
    sched s;
    sched_init(&s, &(sched_limits){.ageing_ms = 100, .patience_ms = 10});
    add(&s, "p-high", JOB_HIGH, 0, 0);
    add(&s, "p-old", JOB_NORMAL, 0, 0);
    add(&s, "q-new", JOB_LOW, 0, 1000);
    add(&s, "w-new", JOB_NORMAL, 0, 1000);
    expect(&s, "w-new", 1000, &sick);
    expect(&s, "q-new", 2000, &sick);
    expect(&s, NULL, 2000, &sick);
    expect(&s, "p-high", 2000, NULL);
    expect(&s, "p-old", 2000, NULL);
    sched_fini(&s);
}

/* Bulk work that became old stands first; without a slot for it, it does not stop what needs none. */
static void test_a_full_house_lets_urgent_jobs_pass(void **state)
{
    (void)state;
    static const want full = {.no_slot_for_bulk = true}, none = {.no_slot = true};
    sched s;
    sched_init(&s, &(sched_limits){.ageing_ms = 100});
    add(&s, "p-old", JOB_NORMAL, 0, 0);
    add(&s, "w-high", JOB_HIGH, 0, 1000);
    add(&s, "p-new", JOB_LOW, 0, 1000);
    assert_int_equal(sched_position(&s, s.e[0].job, 1000), 0);
    expect(&s, NULL, 1000, &none);
    expect(&s, "w-high", 1000, &full);
    expect(&s, NULL, 1000, &full);
    expect(&s, "p-old", 1000, NULL);
    expect(&s, "p-new", 1000, NULL);
    sched_fini(&s);
}

static void test_room_made_before_needs_no_memory(void **state)
{
    (void)state;
    sched s;
    sched_init(&s, &(sched_limits){0});
    assert_int_equal(sched_ensure(&s, 200).code, CUZK_OK);
    uint64_t before = mem_get_stats().n_allocs;
    for (uint32_t i = 0; i < 200; i++)
        sched_push(&s, &(sched_entry){.job = &s, .kind = PROOF_POREP});
    assert_int_equal(mem_get_stats().n_allocs, before);
    assert_int_equal(s.n, 200);
    mem_fail_nth(1);
    assert_int_equal(sched_ensure(&s, 100).code, CUZK_E_NOMEM);
    mem_fail_nth(0);
    sched_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_house_lets_urgent_jobs_pass),
        cmocka_unit_test(test_a_job_without_a_device_stops_nobody),
        cmocka_unit_test(test_room_made_before_needs_no_memory),
        cmocka_unit_test(test_class_then_deadline_then_arrival),
        cmocka_unit_test(test_position_counts_those_before),
        cmocka_unit_test(test_ageing_lifts_to_high_and_not_further),
        cmocka_unit_test(test_kind_limits_hold_back_only_their_kind),
        cmocka_unit_test(test_what_does_not_fit_is_passed_until_patience_ends),
        cmocka_unit_test(test_no_slot_stops_the_search),
        cmocka_unit_test(test_batches_wait_for_size_or_time),
        cmocka_unit_test(test_another_circuit_does_not_fill_a_batch),
        cmocka_unit_test(test_a_job_that_goes_back_keeps_its_place),
        cmocka_unit_test(test_taking_all_is_sorting_by_rank),
        cmocka_unit_test(test_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
