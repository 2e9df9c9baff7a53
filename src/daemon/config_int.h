/* Between the table of keys (config_keys.c), reading (config.c) and printing (config_print.c). */
#ifndef DAEMON_CONFIG_INT_H
#define DAEMON_CONFIG_INT_H
#include "daemon/config.h"

typedef enum key_type {
    KEY_TEXT,
    KEY_LIST, /* strings or integers */
    KEY_U32,
    KEY_BOOL,
    KEY_SIZE, /* text or bytes; "auto" is 0 where auto_is_zero */
    KEY_DURATION,
    KEY_MS,     /* an integer of milliseconds */
    KEY_MODE,   /* octal file mode as text */
    KEY_IGNORED /* accepted from existing files; why says what to know */
} key_type;

typedef struct config_key {
    const char *path;
    key_type type;
    size_t offset;
    uint64_t min, max;
    bool auto_is_zero, reloads;
    bool clamps; /* a number out of range is cut, with a warning, instead of being refused */
    const char *choices; /* "a|b|c" for texts, or NULL */
    /* The choice that another text comes nearest to; false: none does. NULL: there is none. */
    bool (*nearest)(char out[32], const char *text);
    const char *why; /* KEY_IGNORED: the warning */
    const char *help;
} config_key;
extern const config_key config_keys[];
extern const size_t n_config_keys;
const config_key *config_find_key(const char *path);
/* The key most like path, or NULL when none is. */
const config_key *config_nearest_key(const char *path);
#endif
