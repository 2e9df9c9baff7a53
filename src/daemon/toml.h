/* TOML text as a flat list of values; the parser is toml++ behind toml_shim.cc. */
#ifndef DAEMON_TOML_H
#define DAEMON_TOML_H
#include "base/status.h"
#ifdef __cplusplus
extern "C" {
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Other: dates and times, and what else the configuration has no use for. */
typedef enum toml_kind {
    TOML_STRING,
    TOML_INTEGER,
    TOML_FLOAT,
    TOML_BOOLEAN,
    TOML_ARRAY,
    TOML_TABLE,
    TOML_OTHER
} toml_kind;
extern const char *const TOML_KIND_NAMES[TOML_OTHER + 1];

/* Tables and arrays come before their members. text: of strings only. line: from 1. */
typedef struct toml_item {
    char *path; /* "daemon.listen"; members of an array: "gpus.devices[0]" */
    toml_kind kind;
    char *text;
    int64_t integer;
    double number;
    bool boolean;
    uint32_t line;
} toml_item;

/* {0} is empty. */
typedef struct toml_doc {
    toml_item *items;
    size_t n, cap;
} toml_doc;

/* name is used in messages. Errors: CUZK_E_INPUT (name, line, column, what is wrong),
 * CUZK_E_NOMEM. On failure *out is empty. */
CUZK_MUST_CHECK cuzk_status toml_read(toml_doc *out, const char *text, size_t len,
                                      const char *name);
void toml_doc_fini(toml_doc *d);
#ifdef __cplusplus
}
#endif
#endif
