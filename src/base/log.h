/* Structured log lines on stderr: event name and typed fields. Threads: locked (one write per
 * line). */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include <stdint.h>
typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;
typedef struct log_field {
    const char *key;
    enum { LOG_F_STR, LOG_F_U64, LOG_F_F64 } kind;
    const char *str;
    uint64_t u64;
    double f64;
} log_field;
#define LOG_STR(k, v) ((log_field){.key = (k), .kind = LOG_F_STR, .str = (v)})
#define LOG_U64(k, v) ((log_field){.key = (k), .kind = LOG_F_U64, .u64 = (v)})
#define LOG_F64(k, v) ((log_field){.key = (k), .kind = LOG_F_F64, .f64 = (v)})
void log_set(log_level min, int json); /* json: one JSON object a line instead of key=value */
void log_event(log_level lv, const char *event, const log_field *fields, unsigned n_fields);
#define LOG_FIELDS_(...) \
    (const log_field[]){__VA_ARGS__}, sizeof((const log_field[]){__VA_ARGS__}) / sizeof(log_field)
#define log_error(ev, ...) log_event(LOG_ERROR, ev, LOG_FIELDS_(__VA_ARGS__))
#define log_warn(ev, ...) log_event(LOG_WARN, ev, LOG_FIELDS_(__VA_ARGS__))
#define log_info(ev, ...) log_event(LOG_INFO, ev, LOG_FIELDS_(__VA_ARGS__))
#define log_debug(ev, ...) log_event(LOG_DEBUG, ev, LOG_FIELDS_(__VA_ARGS__))
#endif
