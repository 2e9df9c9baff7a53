/* Streaming JSON writer into a file or a growing buffer. Keeps its first failure and ignores later
 * calls; check at json_write_finish. */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_WRITE_MAX_DEPTH 32u

typedef struct json_writer {
    FILE *file; /* NULL: buffer */
    char *buf;  /* owned; text so far, NUL-terminated after finish */
    size_t len, cap;
    uint32_t depth;
    uint32_t has_elem; /* bit d: something was written at depth d */
    uint32_t is_obj;   /* bit d: depth d is an object */
    bool after_key, pretty;
    cuzk_code failed;
} json_writer;

/* file NULL collects in w->buf. pretty: two-space indents and line ends. Threads: confined. */
void json_write_init(json_writer *w, FILE *file, bool pretty);
void json_write_fini(json_writer *w);
/* One complete document must have been written; then a line end follows (file) or buf is
 * terminated.
 * Errors: CUZK_E_NOMEM, CUZK_E_IO, CUZK_E_INTERNAL (unbalanced, key without value, too deep). */
CUZK_MUST_CHECK cuzk_status json_write_finish(json_writer *w);

void json_begin_object(json_writer *w);
void json_end_object(json_writer *w);
void json_begin_array(json_writer *w);
void json_end_array(json_writer *w);
void json_key(json_writer *w, const char *key);
/* NULL writes null; bytes that are not UTF-8 become U+FFFD */
void json_str(json_writer *w, const char *s);
void json_strn(json_writer *w, const char *s, size_t n);
void json_u64(json_writer *w, uint64_t v);
/* shortest of 15 or 17 digits that reads back; not finite: null */
void json_f64(json_writer *w, double v);
void json_bool(json_writer *w, bool v);
void json_null(json_writer *w);
void json_hex(json_writer *w, const void *bytes, size_t n);

/* Key and value in one call. */
void json_kv_str(json_writer *w, const char *key, const char *s);
void json_kv_u64(json_writer *w, const char *key, uint64_t v);
void json_kv_f64(json_writer *w, const char *key, double v);
void json_kv_bool(json_writer *w, const char *key, bool v);
void json_kv_hex(json_writer *w, const char *key, const void *bytes, size_t n);
#endif
