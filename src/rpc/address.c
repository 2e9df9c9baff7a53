/* Address texts; see address.h. */
#include "rpc/address.h"
#include <stdio.h>
#include <string.h>

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static cuzk_status parse_port(uint16_t *out, const char *text, const char *whole)
{
    uint32_t v = 0;
    bool ok = *text != 0;
    for (const char *p = text; *p && ok; p++) {
        ok = *p >= '0' && *p <= '9' && v <= 65535;
        v = v * 10 + (uint32_t)(*p - '0');
    }
    if (!ok || v > 65535)
        return cuzk_bad_input("address", "a port from 0 to 65535 after the last colon",
                              "\"%.100s\"", whole);
    *out = (uint16_t)v;
    return cuzk_ok();
}

static cuzk_status parse_unix(rpc_address *out, const char *path, const char *whole)
{
    out->is_unix = true;
    if (*path == 0 || strlen(path) >= sizeof out->path)
        return cuzk_bad_input("address", "a socket path of 1 to 107 bytes", "\"%.100s\"", whole);
    snprintf(out->path, sizeof out->path, "%s", path);
    return cuzk_ok();
}

cuzk_status rpc_address_parse(rpc_address *out, const char *text)
{
    *out = (rpc_address){.port = 0};
    if (starts(text, "unix://"))
        return parse_unix(out, text + 7, text);
    if (starts(text, "unix:"))
        return parse_unix(out, text + 5, text);
    const char *p = starts(text, "dns:///") ? text + 7 : text;
    const char *colon = strrchr(p, ':');
    if (!colon || strstr(p, "://"))
        return cuzk_bad_input("address", "host:port or unix:///path", "\"%.100s\"", text);
    size_t len = (size_t)(colon - p);
    bool is_v6 = len >= 2 && p[0] == '[' && p[len - 1] == ']';
    if (is_v6)
        p++, len -= 2;
    if (len >= sizeof out->host || memchr(p, '/', len) || (!is_v6 && memchr(p, ':', len)))
        return cuzk_bad_input("address", "host:port, with an IPv6 host in brackets", "\"%.100s\"",
                              text);
    memcpy(out->host, p, len);
    out->host[len] = 0;
    return parse_port(&out->port, colon + 1, text);
}

static void host_port(char *out, size_t size, const char *prefix, const rpc_address *a)
{
    bool is_v6 = strchr(a->host, ':') != NULL;
    snprintf(out, size, "%s%s%s%s:%u", prefix, is_v6 ? "[" : "", a->host[0] ? a->host : "localhost",
             is_v6 ? "]" : "", a->port);
}

void rpc_address_target(char out[RPC_TARGET_MAX], const rpc_address *a)
{
    if (a->is_unix)
        snprintf(out, RPC_TARGET_MAX, "unix:%s", a->path);
    else
        host_port(out, RPC_TARGET_MAX, "dns:///", a);
}

void rpc_address_format(char out[RPC_TARGET_MAX], const rpc_address *a)
{
    if (a->is_unix)
        snprintf(out, RPC_TARGET_MAX, "unix://%s", a->path);
    else
        host_port(out, RPC_TARGET_MAX, "", a);
}
