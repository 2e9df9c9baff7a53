/* The only file that sees toml++: walks the parsed tree into C values; no exception leaves it. */
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

extern "C" {
#include "base/mem.h"
#include "base/status.h"
}
#include "daemon/toml.h"
#include <cstring>
#include <string>

#define DEPTH_MAX 16

static bool append(toml_doc *d, const toml_item *it)
{
    if (d->n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 32;
        void *p = mem_realloc(d->items, d->cap * sizeof *d->items, cap * sizeof *d->items);
        if (!p)
            return false;
        d->items = static_cast<toml_item *>(p);
        d->cap = cap;
    }
    d->items[d->n++] = *it;
    return true;
}

static void set_value(toml_item *it, const toml::node &node, bool *ok)
{
    if (const auto *s = node.as_string()) {
        it->kind = TOML_STRING;
        it->text = mem_strdup(s->get().c_str());
        *ok = it->text && std::strlen(it->text) == s->get().size();
    } else if (const auto *i = node.as_integer()) {
        it->kind = TOML_INTEGER;
        it->integer = i->get();
    } else if (const auto *f = node.as_floating_point()) {
        it->kind = TOML_FLOAT;
        it->number = f->get();
    } else if (const auto *b = node.as_boolean()) {
        it->kind = TOML_BOOLEAN;
        it->boolean = b->get();
    } else if (node.is_array()) {
        it->kind = TOML_ARRAY;
    } else if (node.is_table()) {
        it->kind = TOML_TABLE;
    } else {
        it->kind = TOML_OTHER;
    }
}

/* Depth is bounded: the text may be hostile. */
static bool walk(toml_doc *d, const std::string &path, const toml::node &node, int depth)
{
    if (depth > DEPTH_MAX)
        return false;
    if (depth > 0) {
        toml_item it = {};
        bool ok = true;
        it.line = static_cast<uint32_t>(node.source().begin.line);
        it.path = mem_strdup(path.c_str());
        set_value(&it, node, &ok);
        if (!it.path || !ok || !append(d, &it)) {
            mem_free(it.path);
            mem_free(it.text);
            return false;
        }
    }
    if (const auto *t = node.as_table()) {
        for (auto &&[key, value] : *t) {
            std::string below =
                path.empty() ? std::string(key.str()) : path + "." + std::string(key.str());
            if (!walk(d, below, value, depth + 1))
                return false;
        }
    } else if (const auto *a = node.as_array()) {
        for (size_t i = 0; i < a->size(); i++)
            if (!walk(d, path + "[" + std::to_string(i) + "]", *a->get(i), depth + 1))
                return false;
    }
    return true;
}

static cuzk_status read_checked(toml_doc *out, const char *text, size_t len, const char *name)
{
    toml::parse_result r = toml::parse(std::string_view(text, len));
    if (!r) {
        const toml::parse_error &e = r.error();
        return cuzk_fail(CUZK_E_INPUT, "%s, line %u, column %u: %.*s", name,
                         static_cast<unsigned>(e.source().begin.line),
                         static_cast<unsigned>(e.source().begin.column),
                         static_cast<int>(e.description().size()), e.description().data());
    }
    if (!walk(out, std::string(), r.table(), 0))
        return cuzk_fail(CUZK_E_INPUT, "%s: too deep, a string with a zero byte, or out of memory",
                         name);
    return cuzk_ok();
}

extern "C" cuzk_status toml_read(toml_doc *out, const char *text, size_t len, const char *name)
{
    *out = toml_doc{};
    cuzk_status st;
    try {
        st = read_checked(out, text, len, name);
    } catch (...) { /* the standard library's, when memory ends */
        st = cuzk_fail(CUZK_E_NOMEM, "%s: reading %zu bytes", name, len);
    }
    if (st.code != CUZK_OK)
        toml_doc_fini(out);
    return st;
}

extern "C" void toml_doc_fini(toml_doc *d)
{
    for (size_t i = 0; i < d->n; i++) {
        mem_free(d->items[i].path);
        mem_free(d->items[i].text);
    }
    mem_free(d->items);
    *d = toml_doc{};
}

extern "C" const char *const TOML_KIND_NAMES[TOML_OTHER + 1] = {
    "a string", "an integer", "a number", "true or false", "an array", "a table", "a date"};
