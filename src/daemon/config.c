#include "daemon/config.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "daemon/config_int.h"
#include "daemon/toml.h"
#include "daemon/units.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_FILE_MAX ((size_t)1 << 20)

void config_defaults(daemon_config *c)
{
    *c = (daemon_config){
        .listen = "unix:///run/curio/cuzk.sock",
        .state_dir = "/var/lib/cuzk",
        .socket_mode = 0660,
        .max_requests = 4096,
        .max_message_bytes = 256u << 20,
        .drain_timeout_ms = 60000,
        .safety_margin_bytes = 5ull << 30,
        .eviction_min_idle_ms = 300000,
        .slice_timeout_ms = 120000,
        .max_batch_size = 1,
        .max_batch_wait_ms = 10000,
        .max_queued_jobs = 1000,
        .max_queued_bytes = 2ull << 30,
        .ageing_ms = 1800000,
        .param_cache = "/data/zk/params",
        .retention_ms = 7 * 86400000ull,
        .max_finished = 100000,
        .timelines = 1000,
        .log_level = "info",
        .log_format = "text",
    };
}

void config_warn(config_warnings *w, const char *where, const char *key, const char *text)
{
    if (!w)
        return;
    if (w->n == ARRAY_LEN(w->text)) {
        w->n_dropped++;
        return;
    }
    snprintf(w->text[w->n++], sizeof w->text[0], "%s: %s: %s", where, key, text);
}

static bool is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    for (const char *p = choices; p; p = strchr(p, '|'), p = p ? p + 1 : NULL)
        if (strncmp(p, text, len) == 0 && (p[len] == '|' || p[len] == 0))
            return true;
    return false;
}

/* Where values go, and who hears of those that were changed on the way; w may be NULL. */
typedef struct config_sink {
    daemon_config *c;
    config_warnings *w;
    const char *where;
} config_sink;

static cuzk_status put_text(const config_sink *s, void *at, const config_key *k, const char *text)
{
    char warning[160], near[32];
    if (k->choices && !is_choice(k->choices, text) && k->nearest && k->nearest(near, text)) {
        snprintf(warning, sizeof warning, "expected %s, found \"%.60s\": taken as %s", k->choices,
                 text, near);
        config_warn(s->w, s->where, k->path, warning);
        text = near;
    }
    size_t max = k->choices ? sizeof((daemon_config *)0)->log_level : CONFIG_TEXT_MAX;
    if (k->choices && !is_choice(k->choices, text))
        return cuzk_bad_input(k->path, k->choices, "\"%.40s\"", text);
    if (strlen(text) >= max)
        return cuzk_bad_input(k->path, "a shorter text", "%zu characters", strlen(text));
    memcpy(at, text, strlen(text) + 1);
    return cuzk_ok();
}

/* What the existing daemon would have taken is cut to what there is here. */
static uint64_t clamp(const config_sink *s, const config_key *k, uint64_t v)
{
    char warning[128];
    uint64_t to = v < k->min ? k->min : v > k->max ? k->max : v;
    if (to == v || !k->clamps)
        return v;
    snprintf(warning, sizeof warning, "%llu is taken as %llu, the %s there is",
             (unsigned long long)v, (unsigned long long)to, v < to ? "least" : "most");
    config_warn(s->w, s->where, k->path, warning);
    return to;
}

static cuzk_status put_number(const config_sink *s, void *at, const config_key *k, uint64_t v)
{
    char want[96];
    bool is_auto = v == 0 && k->auto_is_zero;
    v = is_auto ? v : clamp(s, k, v);
    if (!is_auto && (v < k->min || v > k->max)) {
        if (k->max == UINT64_MAX)
            snprintf(want, sizeof want, "at least %llu", (unsigned long long)k->min);
        else
            snprintf(want, sizeof want, "%llu to %llu", (unsigned long long)k->min,
                     (unsigned long long)k->max);
        return cuzk_bad_input(k->path, want, "%llu", (unsigned long long)v);
    }
    if (k->type == KEY_U32 || k->type == KEY_MODE)
        *(uint32_t *)at = (uint32_t)v;
    else
        *(uint64_t *)at = v;
    return cuzk_ok();
}

static cuzk_status add_to_list(const config_sink *s, config_list *l, const config_key *k,
                               const char *text)
{
    char warning[128];
    if (l->n == CONFIG_LIST_MAX)
        return cuzk_bad_input(k->path, "at most 64 items", "more");
    if (text[0] == 0 || strlen(text) >= sizeof l->items[0])
        return cuzk_bad_input(k->path, "items of 1 to 127 characters", "%zu", strlen(text));
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], text) == 0) {
            snprintf(warning, sizeof warning, "\"%.60s\" is there twice: taken once", text);
            config_warn(s->w, s->where, k->path, warning);
            return cuzk_ok();
        }
    memcpy(l->items[l->n++], text, strlen(text) + 1);
    return cuzk_ok();
}

static cuzk_status split_list(const config_sink *s, config_list *l, const config_key *k,
                              const char *text)
{
    char item[128];
    l->n = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        if (n >= sizeof item)
            return cuzk_bad_input(k->path, "items of 1 to 127 characters", "%zu", n);
        memcpy(item, p, n);
        item[n] = 0;
        CUZK_TRY(add_to_list(s, l, k, item));
        p += n + (p[n] == ',');
    }
    return cuzk_ok();
}

static cuzk_status put_u64_text(const config_sink *s, const config_key *k, const char *text,
                                int base)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, base);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return cuzk_bad_input(k->path,
                              base == 8 ? "an octal number such as \"0660\"" : "an integer",
                              "\"%.40s\"", text);
    return put_number(s, (char *)s->c + k->offset, k, v);
}

static cuzk_status put_bool_text(bool *at, const config_key *k, const char *text)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return cuzk_bad_input(k->path, "true or false", "\"%.40s\"", text);
    *at = yes;
    return cuzk_ok();
}

static cuzk_status set_text(const config_sink *s, const config_key *k, const char *text)
{
    void *at = (char *)s->c + k->offset;
    uint64_t v;
    switch (k->type) {
    case KEY_TEXT:
        return put_text(s, at, k, text);
    case KEY_LIST:
        return split_list(s, at, k, text);
    case KEY_BOOL:
        return put_bool_text(at, k, text);
    case KEY_SIZE:
        if (k->auto_is_zero && strcmp(text, "auto") == 0)
            return put_number(s, at, k, 0);
        CUZK_TRY(parse_size(&v, k->path, text));
        return put_number(s, at, k, v);
    case KEY_DURATION:
        CUZK_TRY(parse_duration_ms(&v, k->path, text));
        return put_number(s, at, k, v);
    case KEY_MODE:
        return put_u64_text(s, k, text, 8);
    case KEY_U32:
    case KEY_MS:
        return put_u64_text(s, k, text, 10);
    case KEY_IGNORED:
        break;
    }
    return cuzk_ok();
}

cuzk_status config_set(daemon_config *c, config_warnings *w, const char *key, const char *text,
                       const char *where)
{
    const config_sink s = {c, w, where};
    const config_key *k = config_find_key(key);
    if (!k)
        return cuzk_fail(CUZK_E_INPUT, "%s: %s: no such key", where, key);
    return cuzk_wrap(set_text(&s, k, text), "%s", where);
}

static cuzk_status wrong_kind(const config_key *k, const toml_item *it)
{
    static const char *const want[] = {
        [KEY_TEXT] = "a string",
        [KEY_LIST] = "an array of strings or integers",
        [KEY_U32] = "an integer",
        [KEY_BOOL] = "true or false",
        [KEY_SIZE] = "a size such as \"64GiB\"",
        [KEY_DURATION] = "a duration such as \"5m\"",
        [KEY_MS] = "an integer of milliseconds",
        [KEY_MODE] = "an octal number in quotes, such as \"0660\"",
    };
    return cuzk_bad_input(k->path, want[k->type], "%s", TOML_KIND_NAMES[it->kind]);
}

static cuzk_status set_integer(const config_sink *s, const config_key *k, const toml_item *it)
{
    void *at = (char *)s->c + k->offset;
    if (it->integer < 0)
        return cuzk_bad_input(k->path, "no negative number", "%lld", (long long)it->integer);
    uint64_t v = (uint64_t)it->integer;
    if (k->type == KEY_DURATION && __builtin_mul_overflow(v, 1000, &v))
        return cuzk_bad_input(k->path, "fewer seconds", "%lld", (long long)it->integer);
    return put_number(s, at, k, v);
}

static cuzk_status set_item(const config_sink *s, const config_key *k, const toml_item *it)
{
    bool number =
        k->type == KEY_U32 || k->type == KEY_MS || k->type == KEY_SIZE || k->type == KEY_DURATION;
    bool text = k->type == KEY_TEXT || k->type == KEY_SIZE || k->type == KEY_DURATION ||
                k->type == KEY_MODE;
    if (it->kind == TOML_INTEGER && number)
        return set_integer(s, k, it);
    if (it->kind == TOML_STRING && text)
        return set_text(s, k, it->text);
    if (it->kind == TOML_BOOLEAN && k->type == KEY_BOOL) {
        *(bool *)((char *)s->c + k->offset) = it->boolean;
        return cuzk_ok();
    }
    if (it->kind == TOML_ARRAY && k->type == KEY_LIST) {
        ((config_list *)(void *)((char *)s->c + k->offset))->n = 0;
        return cuzk_ok();
    }
    return wrong_kind(k, it);
}

static cuzk_status set_member(const config_sink *s, const config_key *k, const toml_item *it)
{
    char number[24];
    config_list *l = (config_list *)(void *)((char *)s->c + k->offset);
    if (it->kind == TOML_STRING)
        return add_to_list(s, l, k, it->text);
    if (it->kind != TOML_INTEGER)
        return cuzk_bad_input(k->path, "strings or integers", "%s", TOML_KIND_NAMES[it->kind]);
    snprintf(number, sizeof number, "%lld", (long long)it->integer);
    return add_to_list(s, l, k, number);
}

static cuzk_status unknown_key(const toml_item *it)
{
    const config_key *near = config_nearest_key(it->path);
    return near ? cuzk_fail(CUZK_E_INPUT, "%.100s: no such key; did you mean %s?", it->path,
                            near->path)
                : cuzk_fail(CUZK_E_INPUT, "%.100s: no such key", it->path);
}

static bool is_section(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < n_config_keys; i++)
        if (strncmp(config_keys[i].path, path, len) == 0 && config_keys[i].path[len] == '.')
            return true;
    return false;
}

static cuzk_status apply_item(const config_sink *s, const toml_item *it)
{
    char path[128];
    size_t len = strcspn(it->path, "[");
    if (len >= sizeof path)
        return unknown_key(it);
    memcpy(path, it->path, len);
    path[len] = 0;
    const config_key *k = config_find_key(path);
    if (!k)
        return it->kind == TOML_TABLE && is_section(it->path) ? cuzk_ok() : unknown_key(it);
    bool member = it->path[len] == '[';
    if (k->type != KEY_IGNORED)
        return member ? set_member(s, k, it) : set_item(s, k, it);
    if (!member)
        config_warn(s->w, s->where, k->path, k->why);
    return cuzk_ok();
}

static cuzk_status apply_file(daemon_config *c, config_warnings *w, const char *path,
                              const char *text, size_t len)
{
    toml_doc d;
    char where[CONFIG_TEXT_MAX + 32];
    const config_sink s = {c, w, where};
    CUZK_TRY(toml_read(&d, text, len, path));
    cuzk_status st = cuzk_ok();
    for (size_t i = 0; i < d.n && st.code == CUZK_OK; i++) {
        snprintf(where, sizeof where, "%.500s, line %u", path, d.items[i].line);
        st = cuzk_wrap(apply_item(&s, &d.items[i]), "%s", where);
    }
    toml_doc_fini(&d);
    return st;
}

static cuzk_status read_text(char **out, size_t *len, const char *path)
{
    FILE *f = fopen(path, "rb");
    *out = NULL;
    *len = 0;
    if (!f)
        return cuzk_fail(errno == ENOENT ? CUZK_E_NOT_FOUND : CUZK_E_IO, "%s: %s", path,
                         strerror(errno));
    *out = mem_alloc(CONFIG_FILE_MAX + 1, 8);
    *len = *out ? fread(*out, 1, CONFIG_FILE_MAX + 1, f) : 0;
    cuzk_status st = cuzk_ok();
    if (!*out)
        st = cuzk_fail(CUZK_E_NOMEM, "%s", path);
    else if (ferror(f))
        st = cuzk_fail(CUZK_E_IO, "%s: %s", path, strerror(errno));
    else if (*len > CONFIG_FILE_MAX)
        st = cuzk_fail(CUZK_E_INPUT, "%s: expected at most 1 MiB", path);
    fclose(f);
    if (st.code != CUZK_OK)
        mem_free(*out);
    return st;
}

/* CUZK_DAEMON_LISTEN for daemon.listen. */
static void env_name(char *out, size_t len, const char *path)
{
    size_t n = (size_t)snprintf(out, len, "CUZK_%s", path);
    for (size_t i = 5; i < n && i < len; i++)
        out[i] = (char)(out[i] == '.' ? '_' : out[i] >= 'a' ? out[i] - 32 : out[i]);
}

/* The value of a variable, or NULL. */
static const char *find_env(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (char *const *e = env; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    return NULL;
}

static cuzk_status apply_env(daemon_config *c, config_warnings *w, char *const *env)
{
    char name[96];
    for (size_t i = 0; i < n_config_keys; i++) {
        const config_key *k = &config_keys[i];
        env_name(name, sizeof name, k->path);
        const char *value = find_env(env, name);
        if (!value)
            continue;
        const config_sink s = {c, w, name};
        if (k->type == KEY_IGNORED)
            config_warn(w, name, k->path, k->why);
        CUZK_TRY(cuzk_wrap(set_text(&s, k, value), "environment %s", name));
    }
    return cuzk_ok();
}

static cuzk_status check_whole(const daemon_config *c)
{
    if (!c->listen[0] && !c->tls_listen[0])
        return cuzk_bad_input("daemon.listen", "an address here or in daemon.tls_listen",
                              "neither");
    if (c->tls_listen[0] && (!c->tls_cert[0] || !c->tls_key[0]))
        return cuzk_bad_input("daemon.tls_cert and daemon.tls_key", "both with daemon.tls_listen",
                              "one missing");
    if (!c->tls_listen[0] && (c->tls_cert[0] || c->tls_key[0] || c->tls_client_ca[0]))
        return cuzk_bad_input("daemon.tls_listen",
                              "an address, as tls_cert, tls_key or "
                              "tls_client_ca are given",
                              "nothing");
    if (!c->state_dir[0])
        return cuzk_bad_input("daemon.state_dir", "a folder", "nothing");
    if (!c->param_cache[0])
        return cuzk_bad_input("srs.param_cache", "a folder", "nothing");
    return cuzk_ok();
}

cuzk_status config_load(daemon_config *c, config_warnings *w, const char *path, char *const *env)
{
    config_defaults(c);
    *w = (config_warnings){0};
    if (path) {
        char *text;
        size_t len;
        CUZK_TRY(read_text(&text, &len, path));
        cuzk_status st = apply_file(c, w, path, text, len);
        mem_free(text);
        CUZK_TRY(st);
    }
    CUZK_TRY(apply_env(c, w, env));
    return check_whole(c);
}

log_level config_log_level(const daemon_config *c)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int i = 0; i < (int)ARRAY_LEN(names); i++)
        if (strcmp(c->log_level, names[i]) == 0)
            return (log_level)i;
    return LOG_INFO;
}
