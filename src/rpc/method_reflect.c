/* Server reflection, v1 and v1alpha (the same but for the name): file descriptors of proto/, for
 * tools such as grpcurl. */
#include "rpc/service_int.h"
#include "rpc/wire.h"
#include <grpc/reflection/v1/reflection.pb-c.h>
#include <proto_descriptors.h>
#include <stdio.h>
#include <string.h>

typedef Grpc__Reflection__V1__ServerReflectionRequest request;
typedef Grpc__Reflection__V1__ServerReflectionResponse response;

typedef struct proto_file {
    const char *name, *package, *service;
    const unsigned char *set; /* a FileDescriptorSet of one file */
    const size_t *set_len;
} proto_file;

static const proto_file files[] = {
    {"cuzk/v1/proving.proto", "cuzk.v1", "cuzk.v1.ProvingEngine", proto_cuzk_v1_proving,
     &proto_cuzk_v1_proving_len},
    {"grpc/health/v1/health.proto", "grpc.health.v1", "grpc.health.v1.Health",
     proto_grpc_health_v1_health, &proto_grpc_health_v1_health_len},
    {"grpc/reflection/v1/reflection.proto", "grpc.reflection.v1",
     "grpc.reflection.v1.ServerReflection", proto_grpc_reflection_v1_reflection,
     &proto_grpc_reflection_v1_reflection_len},
    {"grpc/reflection/v1alpha/reflection.proto", "grpc.reflection.v1alpha",
     "grpc.reflection.v1alpha.ServerReflection", proto_grpc_reflection_v1alpha_reflection,
     &proto_grpc_reflection_v1alpha_reflection_len},
};

static uint64_t get_varint(const uint8_t **p)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        v |= (uint64_t)(**p & 0x7f) << shift;
        if (!(*(*p)++ & 0x80))
            return v;
    }
}

/* One field of a descriptor, which are ours and so well formed; numbers come as no bytes. Returns
 * where the next one begins. */
static const uint8_t *next_field(const uint8_t *p, uint32_t *number, const uint8_t **bytes,
                                 size_t *len)
{
    uint64_t tag = get_varint(&p), value = get_varint(&p);
    *number = (uint32_t)(tag >> 3);
    *bytes = p;
    *len = (tag & 7) == 2 ? (size_t)value : 0;
    return p + *len;
}

static ProtobufCBinaryData descriptor(const proto_file *f)
{
    uint32_t number;
    const uint8_t *bytes;
    size_t len;
    (void)next_field(f->set, &number, &bytes, &len);
    return (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)bytes};
}

/* Whether the file has a message (field 4), enum (5) or service (6) of that name. */
static bool defines(const proto_file *f, const char *name, size_t name_len)
{
    ProtobufCBinaryData d = descriptor(f);
    const uint8_t *p = d.data, *bytes, *inner;
    uint32_t number, inner_number;
    size_t len, inner_len;
    while (p < d.data + d.len) {
        p = next_field(p, &number, &bytes, &len);
        if (number < 4 || number > 6 || len == 0)
            continue;
        (void)next_field(bytes, &inner_number, &inner, &inner_len); /* the name comes first */
        if (inner_number == 1 && inner_len == name_len && memcmp(inner, name, name_len) == 0)
            return true;
    }
    return false;
}

static const proto_file *file_of_symbol(const char *symbol)
{
    if (symbol[0] == '.')
        symbol++;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t n = strlen(files[i].package);
        if (strncmp(symbol, files[i].package, n) != 0 || symbol[n] != '.')
            continue;
        const char *name = symbol + n + 1;
        if (defines(&files[i], name, strcspn(name, ".")))
            return &files[i];
    }
    return NULL;
}

static const proto_file *file_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    return NULL;
}

/* An answer with all it may point to. */
typedef struct reply {
    response out;
    ProtobufCBinaryData descriptor;
    Grpc__Reflection__V1__FileDescriptorResponse file;
    Grpc__Reflection__V1__ListServiceResponse services;
    Grpc__Reflection__V1__ServiceResponse rows[ARRAY_LEN(files)], *list[ARRAY_LEN(files)];
    Grpc__Reflection__V1__ErrorResponse error;
} reply;

static void put_file(reply *r, const proto_file *f)
{
    grpc__reflection__v1__file_descriptor_response__init(&r->file);
    r->descriptor = descriptor(f);
    r->file.n_file_descriptor_proto = 1;
    r->file.file_descriptor_proto = &r->descriptor;
    r->out.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
    r->out.file_descriptor_response = &r->file;
}

static void put_services(reply *r)
{
    grpc__reflection__v1__list_service_response__init(&r->services);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        grpc__reflection__v1__service_response__init(&r->rows[i]);
        r->rows[i].name = (char *)(uintptr_t)files[i].service;
        r->list[i] = &r->rows[i];
    }
    r->services.n_service = ARRAY_LEN(files);
    r->services.service = r->list;
    r->out.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    r->out.list_services_response = &r->services;
}

static void put_error(reply *r, rpc_code code, const char *text)
{
    grpc__reflection__v1__error_response__init(&r->error);
    r->error.error_code = code;
    r->error.error_message = (char *)(uintptr_t)text;
    r->out.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    r->out.error_response = &r->error;
}

static void put_file_or_error(reply *r, const proto_file *f)
{
    if (f)
        put_file(r, f);
    else
        put_error(r, RPC_NOT_FOUND, "no such file or symbol");
}

static void answer(rpc_call *c, request *q)
{
    reply r;
    grpc__reflection__v1__server_reflection_response__init(&r.out);
    r.out.valid_host = q->host;
    r.out.original_request = q;
    switch (q->message_request_case) {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        put_services(&r);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        put_file_or_error(&r, file_by_name(q->file_by_filename));
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        put_file_or_error(&r, file_of_symbol(q->file_containing_symbol));
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        put_error(&r, RPC_NOT_FOUND, "there are no extensions");
        break;
    default:
        put_error(&r, RPC_INVALID_ARGUMENT, "nothing was asked");
    }
    (void)wire_send(c, &r.out);
}

static void reflect(rpc_call *c, rpc_body *body)
{
    if (!body) {
        rpc_call_end(c);
        return;
    }
    request *r = wire_parse(c, body, &grpc__reflection__v1__server_reflection_request__descriptor);
    if (!r)
        return;
    answer(c, r);
    wire_free(r);
}

static void reflect_drain(rpc_call *c)
{
    rpc_call_fail(c, RPC_UNAVAILABLE, "the daemon is shutting down", 0);
}

#define REFLECT(version)                                                              \
    {                                                                                 \
        .path = "/grpc.reflection." version ".ServerReflection/ServerReflectionInfo", \
        .flags = RPC_MANY_MESSAGES | RPC_ENDLESS, .on_message = reflect,              \
        .on_sent = rpc_call_receive, .on_drain = reflect_drain                        \
    }
const rpc_method rpc_method_reflect = REFLECT("v1");
const rpc_method rpc_method_reflect_alpha = REFLECT("v1alpha");
