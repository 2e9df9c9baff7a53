#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"

static void write_sample(json_writer *w)
{
    static const uint8_t bytes[] = {0x00, 0xab, 0xff};
    json_begin_object(w);
    json_kv_str(w, "s", "q\" b\\ n\n t\t \x01 \xc3\xa9 \xff");
    json_kv_u64(w, "max", UINT64_MAX);
    json_kv_f64(w, "f", 0.1);
    json_kv_f64(w, "nan", NAN);
    json_kv_bool(w, "t", true);
    json_kv_hex(w, "hex", bytes, sizeof bytes);
    json_kv_str(w, "none", NULL);
    json_key(w, "list");
    json_begin_array(w);
    json_u64(w, 1);
    json_begin_array(w);
    json_end_array(w);
    json_begin_object(w);
    json_end_object(w);
    json_end_array(w);
    json_end_object(w);
}

static void test_output_is_exact(void **state)
{
    (void)state;
    json_writer w;
    json_write_init(&w, NULL, false);
    write_sample(&w);
    assert_int_equal(json_write_finish(&w).code, CUZK_OK);
    assert_string_equal(w.buf, "{\"s\":\"q\\\" b\\\\ n\\n t\\t \\u0001 \xc3\xa9 "
                               "\\ufffd\",\"max\":18446744073709551615,\"f\":0.1,\"nan\":null,"
                               "\"t\":true,\"hex\":\"00abff\",\"none\":null,\"list\":[1,[],{}]}");
    json_write_fini(&w);
    json_write_init(&w, NULL, true);
    json_begin_object(&w);
    json_kv_u64(&w, "a", 1);
    json_key(&w, "b");
    json_begin_array(&w);
    json_u64(&w, 2);
    json_end_array(&w);
    json_end_object(&w);
    assert_int_equal(json_write_finish(&w).code, CUZK_OK);
    assert_string_equal(w.buf, "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
    json_write_fini(&w);
}

static void test_reader_takes_what_writer_gives(void **state)
{
    (void)state;
    for (int pretty = 0; pretty < 2; pretty++) {
        json_writer w;
        json_doc doc;
        json_val v;
        uint64_t u;
        double f;
        json_write_init(&w, NULL, pretty);
        write_sample(&w);
        assert_int_equal(json_write_finish(&w).code, CUZK_OK);
        assert_int_equal(json_parse(&doc, w.buf, w.len).code, CUZK_OK);
        assert_true(json_member(&v, json_root(&doc), "s"));
        assert_true(json_string_is(v, "q\" b\\ n\n t\t \x01 \xc3\xa9 \xef\xbf\xbd"));
        assert_true(json_member(&v, json_root(&doc), "max"));
        assert_int_equal(json_get_u64(&u, v, UINT64_MAX).code, CUZK_OK);
        assert_true(u == UINT64_MAX);
        assert_true(json_member(&v, json_root(&doc), "f"));
        assert_int_equal(json_get_double(&f, v).code, CUZK_OK);
        assert_true(f == 0.1);
        json_fini(&doc);
        json_write_fini(&w);
    }
}

static void test_misuse_is_reported(void **state)
{
    (void)state;
    for (int k = 0; k < 7; k++) {
        json_writer w;
        json_write_init(&w, NULL, false);
        if (k == 1)
            json_begin_object(&w); /* never ended */
        if (k == 2) {
            json_begin_object(&w);
            json_u64(&w, 1); /* no key */
            json_end_object(&w);
        }
        if (k == 3) {
            json_begin_array(&w);
            json_key(&w, "a");
            json_u64(&w, 1);
            json_end_array(&w);
        }
        if (k == 4) {
            json_begin_array(&w);
            json_end_object(&w);
        }
        if (k == 5) {
            json_u64(&w, 1);
            json_u64(&w, 2); /* two documents */
        }
        if (k == 6)
            for (unsigned i = 0; i < 2 * JSON_WRITE_MAX_DEPTH; i++)
                json_begin_array(&w);
        assert_int_equal(json_write_finish(&w).code, CUZK_E_INTERNAL); /* k = 0: nothing written */
        json_write_fini(&w);
    }
}

static void test_out_of_memory_is_kept_to_the_end(void **state)
{
    (void)state;
    json_writer w;
    json_write_init(&w, NULL, false);
    mem_fail_nth(1);
    json_u64(&w, 5);
    mem_fail_nth(0);
    assert_int_equal(json_write_finish(&w).code, CUZK_E_NOMEM);
    json_write_fini(&w);
}

static void test_file_output_ends_with_a_line_end(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    char text[32];
    json_writer w;
    assert_non_null(f);
    json_write_init(&w, f, false);
    json_begin_array(&w);
    json_f64(&w, 1.5);
    json_null(&w);
    json_end_array(&w);
    assert_int_equal(json_write_finish(&w).code, CUZK_OK);
    json_write_fini(&w);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    assert_string_equal(text, "[1.5,null]\n");
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_is_exact),
        cmocka_unit_test(test_reader_takes_what_writer_gives),
        cmocka_unit_test(test_misuse_is_reported),
        cmocka_unit_test(test_out_of_memory_is_kept_to_the_end),
        cmocka_unit_test(test_file_output_ends_with_a_line_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
