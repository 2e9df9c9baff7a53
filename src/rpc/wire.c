/* protobuf-c with our allocator, bounds and UTF-8 checks. */
#include "rpc/wire.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <string.h>

static void *pb_alloc(void *ctx, size_t n)
{
    (void)ctx;
    return mem_alloc(n, 16);
}
static void pb_free(void *ctx, void *p)
{
    (void)ctx;
    mem_free(p);
}
static ProtobufCAllocator allocator = {pb_alloc, pb_free, NULL};

/* ---- UTF-8 of what protobuf-c took as it came ---- */

static cuzk_status check_strings(const ProtobufCMessage *m);

static cuzk_status check_value(const ProtobufCFieldDescriptor *f, const void *value)
{
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        const char *s = *(char *const *)value;
        if (s && !utf8_is_valid(s, strlen(s)))
            return cuzk_fail(CUZK_E_INPUT, "%s: expected UTF-8", f->name);
    }
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *m = *(ProtobufCMessage *const *)value;
        return m ? cuzk_wrap(check_strings(m), "%s", f->name) : cuzk_ok();
    }
    return cuzk_ok();
}

static cuzk_status check_field(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    const char *base = (const char *)m;
    size_t n;
    if (f->label != PROTOBUF_C_LABEL_REPEATED) {
        /* Members of a oneof share their place. */
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            uint32_t set;
            memcpy(&set, base + f->quantifier_offset, sizeof set);
            if (set != f->id)
                return cuzk_ok();
        }
        return check_value(f, base + f->offset);
    }
    if (f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_MESSAGE)
        return cuzk_ok();
    memcpy(&n, base + f->quantifier_offset, sizeof n);
    void *const *list = *(void *const *const *)(const void *)(base + f->offset);
    for (size_t i = 0; i < n; i++)
        CUZK_TRY(check_value(f, &list[i]));
    return cuzk_ok();
}

static cuzk_status check_strings(const ProtobufCMessage *m)
{
    for (unsigned i = 0; i < m->descriptor->n_fields; i++)
        CUZK_TRY(check_field(m, &m->descriptor->fields[i]));
    return cuzk_ok();
}

/* ---- messages ---- */

cuzk_status wire_unpack(void **out, const ProtobufCMessageDescriptor *desc, const uint8_t *bytes,
                        size_t len)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(desc, &allocator, len, bytes);
    *out = NULL;
    if (!m)
        return cuzk_fail(CUZK_E_INPUT,
                         "request: expected a %s message, found %zu bytes that are none",
                         desc->short_name, len);
    cuzk_status st = check_strings(m);
    if (st.code != CUZK_OK)
        protobuf_c_message_free_unpacked(m, &allocator);
    else
        *out = m;
    return st;
}

cuzk_status wire_gather(uint8_t **out, size_t *len, rpc_body *b, size_t max_bytes)
{
    size_t total = rpc_body_bytes(b), at = 0, n;
    const uint8_t *p;
    *out = NULL;
    *len = 0;
    if (total > max_bytes)
        return cuzk_fail(CUZK_E_INPUT, "request: expected at most %zu bytes, found %zu", max_bytes,
                         total);
    uint8_t *buf = mem_alloc(total, 64);
    if (!buf)
        return cuzk_fail(CUZK_E_NOMEM, "a request of %zu bytes", total);
    while (rpc_body_next(b, &p, &n)) {
        if (n > total - at) {
            mem_free(buf);
            return cuzk_fail(CUZK_E_INTERNAL, "a message longer than it said");
        }
        memcpy(buf + at, p, n);
        at += n;
    }
    *out = buf;
    *len = at;
    return cuzk_ok();
}

void *wire_parse(rpc_call *c, rpc_body *b, const ProtobufCMessageDescriptor *desc)
{
    uint8_t *bytes;
    size_t len;
    void *m = NULL;
    cuzk_status st = wire_gather(&bytes, &len, b, WIRE_SMALL_MAX_BYTES);
    if (st.code == CUZK_OK)
        st = wire_unpack(&m, desc, bytes, len);
    mem_free(bytes);
    if (st.code != CUZK_OK)
        rpc_call_fail_status(c, st, 1000);
    return m;
}

void wire_free(void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}

static void pack(void *ctx, uint8_t *out) { protobuf_c_message_pack(ctx, out); }

void wire_reply(rpc_call *c, const void *message)
{
    ProtobufCMessage *m = (ProtobufCMessage *)(uintptr_t)message;
    (void)rpc_call_reply(c, protobuf_c_message_get_packed_size(m), pack, m);
}

bool wire_send(rpc_call *c, const void *message)
{
    ProtobufCMessage *m = (ProtobufCMessage *)(uintptr_t)message;
    return rpc_call_send(c, protobuf_c_message_get_packed_size(m), pack, m);
}
