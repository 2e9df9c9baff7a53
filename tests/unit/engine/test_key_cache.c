/* Which keys stay: pure logic, nothing is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "engine/key_cache.h"

static key_entry *pin(key_cache *c, const char *name, bool want_new)
{
    circuit_id id;
    bool is_new;
    assert_int_equal(circuit_id_parse(&id, name).code, CUZK_OK);
    key_entry *e = key_cache_pin(c, &id, &is_new);
    assert_non_null(e);
    assert_int_equal(is_new, want_new);
    return e;
}

static void drop_all(key_cache *c)
{
    while (c->first)
        key_cache_remove(c, c->first);
}

static void test_a_second_user_joins(void **state)
{
    (void)state;
    key_cache c = {0};
    key_entry *a = pin(&c, "porep-2k", true);
    assert_int_equal(a->state, KEY_LOADING);
    assert_ptr_equal(pin(&c, "porep-2k", false), a);
    assert_int_equal(a->n_users, 2);
    assert_int_equal(c.n_hits, 1);
    assert_int_equal(c.n_misses, 1);
    assert_ptr_equal(key_cache_find(&c, "porep-2k"), a);
    assert_null(key_cache_find(&c, "porep-4k"));
    drop_all(&c);
}

static void test_a_closing_entry_gets_no_users(void **state)
{
    (void)state;
    key_cache c = {0};
    key_entry *a = pin(&c, "porep-2k", true);
    key_cache_unpin(a, 5, 50);
    a->state = KEY_CLOSING;
    assert_ptr_equal(pin(&c, "porep-2k", false), a);
    assert_int_equal(a->n_users, 0);
    drop_all(&c);
}

static void test_the_least_recently_used_idle_one_goes(void **state)
{
    (void)state;
    key_cache c = {0};
    static const char *const names[] = {"porep-2k", "winning-2k", "wpost-2k", "snap-2k"};
    key_entry *e[4];
    for (size_t i = 0; i < 4; i++) {
        e[i] = pin(&c, names[i], true);
        e[i]->state = KEY_READY;
        key_cache_unpin(e[i], 100 + 10 * (uint64_t)i, 0);
    }
    assert_ptr_equal(key_cache_victim(&c, 1000, 0, NULL), e[0]);
    assert_ptr_equal(key_cache_victim(&c, 1000, 0, e[0]), e[1]); /* the next one but for e[0] */
    pin(&c, names[0], false);                                    /* in use */
    assert_ptr_equal(key_cache_victim(&c, 1000, 0, NULL), e[1]);
    e[1]->state = KEY_LOADING;
    assert_ptr_equal(key_cache_victim(&c, 1000, 0, NULL), e[2]);
    assert_ptr_equal(key_cache_victim(&c, 150, 30, NULL), e[2]); /* idle since 120 */
    assert_null(key_cache_victim(&c, 149, 30, NULL));
    assert_int_equal(key_cache_next_victim_ms(&c, 149, 30), 150);
    assert_int_equal(key_cache_next_victim_ms(&c, 150, 30), 160);
    assert_int_equal(key_cache_next_victim_ms(&c, 160, 30), UINT64_MAX);
    drop_all(&c);
}

static void test_kept_keys_go_last(void **state)
{
    (void)state;
    key_cache c = {0};
    int h;
    key_cache_keep(&c, "winning-2k");
    key_entry *w = pin(&c, "winning-2k", true), *p = pin(&c, "porep-2k", true);
    w->state = p->state = KEY_READY;
    w->slots[0].handle = p->slots[0].handle = &h;
    assert_ptr_equal(key_cache_slot_victim(&c, 0, NULL, true), p);
    assert_null(key_cache_slot_victim(&c, 0, NULL, false));
    key_cache_unpin(w, 100, 0);
    assert_ptr_equal(key_cache_slot_victim(&c, 0, NULL, true),
                     p); /* also when that one has users */
    assert_ptr_equal(key_cache_slot_victim(&c, 0, NULL, false), w);
    assert_ptr_equal(key_cache_victim(&c, 1000, 30, NULL), w); /* nothing else can go */
    key_cache_unpin(p, 900, 0);
    assert_ptr_equal(key_cache_victim(&c, 1000, 0, NULL), p); /* though used later */
    assert_ptr_equal(key_cache_victim(&c, 1000, 30, NULL), p);
    assert_null(key_cache_victim(&c, 1000, 200, NULL)); /* p can go soon: wait for that */
    assert_ptr_equal(key_cache_victim(&c, 1000, 200, p), w);
    assert_ptr_equal(key_cache_slot_victim(&c, 0, NULL, false), p);
    assert_ptr_equal(key_cache_slot_victim(&c, 0, p, false), w);
    drop_all(&c);
}

static void test_handles_in_use_stay_on_their_device(void **state)
{
    (void)state;
    key_cache c = {0};
    int h;
    key_entry *a = pin(&c, "porep-2k", true), *b = pin(&c, "winning-2k", true);
    a->slots[1].handle = b->slots[1].handle = &h;
    assert_null(key_cache_slot_victim(&c, 1, NULL, false)); /* both have users */
    assert_non_null(key_cache_slot_victim(&c, 1, NULL, true));
    assert_ptr_equal(key_cache_slot_victim(&c, 1, b, true), a);
    key_cache_unpin(b, 20, 0);
    assert_ptr_equal(key_cache_slot_victim(&c, 1, NULL, true), b); /* without users first */
    key_cache_unpin(a, 10, 0);
    assert_ptr_equal(key_cache_slot_victim(&c, 1, NULL, false), a);
    assert_ptr_equal(key_cache_slot_victim(&c, 1, a, false), b);
    assert_null(key_cache_slot_victim(&c, 0, NULL, false));
    a->slots[1].in_use = true;
    assert_ptr_equal(key_cache_slot_victim(&c, 1, NULL, false), b);
    assert_true(key_entry_has_handles(a));
    a->slots[1] = (key_slot){0};
    assert_false(key_entry_has_handles(a));
    drop_all(&c);
}

static void test_out_of_memory_gives_no_entry(void **state)
{
    (void)state;
    key_cache c = {0};
    circuit_id id;
    bool is_new;
    assert_int_equal(circuit_id_parse(&id, "porep-2k").code, CUZK_OK);
    mem_fail_nth(1);
    assert_null(key_cache_pin(&c, &id, &is_new));
    mem_fail_nth(0);
    assert_false(is_new);
    assert_null(c.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_second_user_joins),
        cmocka_unit_test(test_a_closing_entry_gets_no_users),
        cmocka_unit_test(test_the_least_recently_used_idle_one_goes),
        cmocka_unit_test(test_kept_keys_go_last),
        cmocka_unit_test(test_handles_in_use_stay_on_their_device),
        cmocka_unit_test(test_out_of_memory_gives_no_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
