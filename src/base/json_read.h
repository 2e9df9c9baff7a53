/* JSON documents (RFC 8259) as a compact tape, over YAJL. Built for big vanilla proofs: an array of
 * integers 0..255 takes one byte per element, so a document needs less memory than its text.
 * Nothing here recurses on the depth of the input.
 *
 * Struct reading follows what serde (the format's writer) accepts: any key order, unknown keys
 * skipped, a struct written as an array in field order; duplicate known keys and missing ones are
 * refused. Errors name the field by its path. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H
#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_MAX_BYTES ((size_t)1 << 30) /* larger texts are refused */
#define JSON_MAX_DEPTH 4096u             /* nesting accepted (and skipped) in unknown fields */

typedef enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
} json_kind;

/* A parsed document; immutable after json_parse. The layout of the tape is private to
 * json_read.c. */
typedef struct json_doc {
    const char *text;
    size_t len;
    uint64_t *tape;
    size_t n_words, cap_words;
    arena copies; /* strings that had escapes */
} json_doc;

/* One value of a document. Borrows the document; copy freely. */
typedef struct json_val {
    const json_doc *doc;
    size_t pos;
    uint32_t byte_idx; /* 1 + index inside a packed byte array; 0 = not inside one */
} json_val;

/* Parse a whole document: one value, white space around it, nothing else.
 * Memory: keeps text until json_fini (strings point into it). Up to about 6 bytes per input byte
 * for hostile input, 0.5 for proofs.
 * Errors: CUZK_E_INPUT (what and byte offset; byte-order mark, NUL, trailing data, bad UTF-8,
 * depth, length), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status json_parse(json_doc *doc, const void *text, size_t len);
void json_fini(json_doc *doc);

json_val json_root(const json_doc *doc);
json_kind json_val_kind(json_val v);
/* The path of a value, "a.b[3].c", cut to fit; "(document)" for the root. */
void json_path(char *out, size_t out_size, json_val v);
/* A bad-input status "<path>: expected <expected>, found <found>"; found_fmt NULL describes the
 * value itself. */
cuzk_status json_bad(json_val v, const char *expected, const char *found_fmt, ...)
    CUZK_PRINTF(3, 4);

/* Integer 0..max. Floats, exponents, signs (also -0) and larger values are refused. */
CUZK_MUST_CHECK cuzk_status json_get_u64(uint64_t *out, json_val v, uint64_t max);
CUZK_MUST_CHECK cuzk_status json_get_double(double *out, json_val v);
CUZK_MUST_CHECK cuzk_status json_get_bool(bool *out, json_val v);
CUZK_MUST_CHECK cuzk_status json_get_null(json_val v);
/* Not NUL-terminated; lives as long as the document. */
CUZK_MUST_CHECK cuzk_status json_get_string(const char **out, size_t *out_len, json_val v);
bool json_string_is(json_val v, const char *s);
/* Array of exactly n integers 0..255; *out points into the document. */
CUZK_MUST_CHECK cuzk_status json_get_bytes(const uint8_t **out, json_val v, size_t n);

/* Walk an array or object. next is false at the end. */
typedef struct json_iter {
    json_val v;       /* the container */
    size_t next, end; /* tape positions, or byte indices in a packed array */
    size_t n;         /* elements in all */
    bool packed, keys;
} json_iter;
CUZK_MUST_CHECK cuzk_status json_array(json_iter *it, json_val v);
/* The same, refusing any other length. */
CUZK_MUST_CHECK cuzk_status json_array_n(json_iter *it, json_val v, size_t n);
bool json_next(json_iter *it, json_val *elem);
CUZK_MUST_CHECK cuzk_status json_object(json_iter *it, json_val v);
bool json_next_member(json_iter *it, const char **key, size_t *key_len, json_val *value);
/* First member of that name; false when absent or v is not an object. */
bool json_member(json_val *out, json_val v, const char *name);

/* A struct of n <= 32 fields: object with every name once, or array of exactly n elements. vals[i]
 * belongs to names[i]. */
CUZK_MUST_CHECK cuzk_status json_struct(json_val *vals, json_val v, const char *const *names,
                                        size_t n);
/* An externally tagged enum: object with exactly one member. */
CUZK_MUST_CHECK cuzk_status json_variant(const char **tag, size_t *tag_len, json_val *content,
                                         json_val v);
#endif
