/* Reads Prometheus text format 0.0.4 and fails the test on what promtool would refuse: samples outside
 * their family, families or series twice, bad names, labels or numbers, histograms that do not add up. */
#ifndef PROM_CHECK_H
#define PROM_CHECK_H
#include "unit/base/base_test.h"
#include <stdbool.h>

#define PROM_SERIES_MAX 4096u
#define PROM_FAMILIES_MAX 256u
#define PROM_NAME_MAX 128u

typedef struct prom_family {
    char name[PROM_NAME_MAX], type[16];
    bool has_samples;
} prom_family;

typedef struct prom_text {
    const char *series[PROM_SERIES_MAX]; /* "name{labels}" as written, NUL-terminated in copy */
    double values[PROM_SERIES_MAX];
    uint32_t n_series;
    prom_family families[PROM_FAMILIES_MAX];
    uint32_t n_families;
    char *copy;
} prom_text;

static bool prom_is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool alpha = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
        if (!alpha && (i == 0 || s[i] < '0' || s[i] > '9'))
            return false;
    }
    return n > 0;
}

static bool prom_ends_with(const char *s, size_t n, const char *suffix, size_t *stem)
{
    size_t k = strlen(suffix);
    *stem = n - (n > k ? k : 0);
    return n > k && memcmp(s + n - k, suffix, k) == 0;
}

/* "# HELP name text" or "# TYPE name type"; HELP comes first and opens the family. */
static void prom_comment(prom_text *t, const char *line)
{
    char word[8], name[PROM_NAME_MAX];
    int at = 0;
    if (sscanf(line, "# %7s %127s %n", word, name, &at) != 2 || at == 0)
        fail_msg("not a comment of the format: %s", line);
    if (strcmp(word, "HELP") == 0) {
        assert_true(prom_is_name(name, strlen(name)));
        for (uint32_t i = 0; i < t->n_families; i++)
            if (strcmp(t->families[i].name, name) == 0)
                fail_msg("family %s twice", name);
        if (!line[at])
            fail_msg("%s: empty help", name);
        assert_true(t->n_families < PROM_FAMILIES_MAX);
        strcpy(t->families[t->n_families++].name, name);
        return;
    }
    assert_string_equal(word, "TYPE");
    prom_family *f = &t->families[t->n_families - 1];
    if (t->n_families == 0 || strcmp(f->name, name) != 0 || f->type[0])
        fail_msg("type of %s is not behind its help", name);
    static const char *const types[] = {"counter", "gauge", "histogram", "summary"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        known |= strcmp(types[i], line + at) == 0;
    if (!known)
        fail_msg("%s: type %s", name, line + at);
    strcpy(f->type, line + at);
}

static void prom_sample_family(prom_text *t, const char *line, size_t name_len)
{
    prom_family *f = &t->families[t->n_families - 1];
    assert_true(t->n_families > 0 && f->type[0]);
    size_t stem = name_len, len = strlen(f->name);
    bool is_hist = strcmp(f->type, "histogram") == 0, is_summary = strcmp(f->type, "summary") == 0;
    if (is_hist || is_summary) {
        bool ok = prom_ends_with(line, name_len, "_sum", &stem) ||
                  prom_ends_with(line, name_len, "_count", &stem) ||
                  (is_hist && prom_ends_with(line, name_len, "_bucket", &stem));
        if (!ok)
            fail_msg("%s in a %s", line, f->type);
    }
    if (stem != len || memcmp(line, f->name, len) != 0)
        fail_msg("sample outside its family %s: %s", f->name, line);
    f->has_samples = true;
}

/* Past the closing brace. */
static const char *prom_labels(const char *p, const char *line)
{
    do {
        const char *key = ++p;
        p = strchr(p, '=');
        if (!p || !prom_is_name(key, (size_t)(p - key)) || p[1] != '"')
            fail_msg("labels: %s", line);
        for (p += 2; *p && *p != '"'; p++)
            if (*p == '\\' && !strchr("\\\"n", *++p))
                fail_msg("escape in label: %s", line);
        if (*p++ != '"')
            fail_msg("open label: %s", line);
    } while (*p == ',');
    if (*p != '}')
        fail_msg("labels: %s", line);
    return p + 1;
}

static void prom_sample(prom_text *t, char *line)
{
    size_t n = strcspn(line, "{ ");
    if (!prom_is_name(line, n))
        fail_msg("name: %s", line);
    prom_sample_family(t, line, n);
    char *p = line + n;
    if (*p == '{')
        p = line + (prom_labels(p, line) - line);
    char *end;
    if (*p != ' ')
        fail_msg("no value: %s", line);
    double v = strtod(p + 1, &end);
    if (end == p + 1 || *end)
        fail_msg("value: %s", line);
    *p = 0;
    for (uint32_t i = 0; i < t->n_series; i++)
        if (strcmp(t->series[i], line) == 0)
            fail_msg("series twice: %s", line);
    assert_true(t->n_series < PROM_SERIES_MAX);
    t->series[t->n_series] = line;
    t->values[t->n_series++] = v;
    if (strcmp(t->families[t->n_families - 1].type, "counter") == 0 && !(v >= 0))
        fail_msg("counter below 0: %s", line);
}

/* Value of a series by its full text. */
static bool prom_find(double *out, const prom_text *t, const char *series)
{
    for (uint32_t i = 0; i < t->n_series; i++)
        if (strcmp(t->series[i], series) == 0) {
            *out = t->values[i];
            return true;
        }
    return false;
}

static double prom_value(const prom_text *t, const char *series)
{
    double v = 0;
    if (!prom_find(&v, t, series))
        fail_msg("no series %s", series);
    return v;
}

static inline const char *prom_type(const prom_text *t, const char *family)
{
    for (uint32_t i = 0; i < t->n_families; i++)
        if (strcmp(t->families[i].name, family) == 0)
            return t->families[i].type;
    fail_msg("no family %s", family);
    return NULL;
}

/* Buckets lie together in ascending order of le, which is the last label; then _sum and _count. */
static void prom_histograms(const prom_text *t)
{
    double below = 0, last_le = -1;
    bool in_hist = false;
    for (uint32_t i = 0; i < t->n_series; i++) {
        const char *s = t->series[i], *le = strstr(s, "le=\"");
        if (strstr(s, "_bucket{") && le) {
            double bound = strtod(le + 4, NULL);
            if (in_hist && (bound <= last_le || t->values[i] < below))
                fail_msg("bucket out of order: %s", s);
            in_hist = true;
            last_le = bound;
            below = t->values[i];
        } else if (in_hist) {
            if (!strstr(s, "_sum{") || last_le < 1e300)
                fail_msg("histogram without +Inf or sum before %s", s);
            assert_true(i + 1 < t->n_series && strstr(t->series[i + 1], "_count{"));
            assert_true(t->values[i + 1] == below);
            in_hist = false;
            last_le = -1;
        }
    }
    assert_false(in_hist);
}

static void prom_parse(prom_text *t, const char *text, size_t len)
{
    *t = (prom_text){0};
    assert_true(len > 0 && text[len - 1] == '\n');
    assert_int_equal(strlen(text), len);
    t->copy = malloc(len + 1);
    assert_non_null(t->copy);
    memcpy(t->copy, text, len + 1);
    for (char *line = t->copy, *next; *line; line = next) {
        next = strchr(line, '\n');
        *next++ = 0;
        if (!*line)
            fail_msg("empty line");
        if (*line == '#')
            prom_comment(t, line);
        else
            prom_sample(t, line);
    }
    prom_histograms(t);
}

static void prom_fini(prom_text *t) { free(t->copy); }
#endif
