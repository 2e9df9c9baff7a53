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

/* A length-delimited field of a descriptor; these are ours, so they are well formed. */
static const uint8_t *next_field(const uint8_t *p, uint32_t *number, const uint8_t **bytes,
                                 size_t *len)
{
    uint64_t v[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        unsigned shift = 0;
        do
            v[i] |= (uint64_t)(*p & 0x7f) << shift, shift += 7;
        while (*p++ & 0x80);
        if (i == 0 && (v[0] & 7) != 2) { /* a number: syntax, edition */
            *number = (uint32_t)(v[0] >> 3);
            while (*p & 0x80)
                p++;
            *bytes = p;
            *len = 0;
            return p + 1;
        }
    }
    *number = (uint32_t)(v[0] >> 3);
    *bytes = p;
    *len = (size_t)v[1];
    return p + v[1];
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

static void send_file(rpc_call *c, response *out, const proto_file *f)
{
    ProtobufCBinaryData d = descriptor(f);
    Grpc__Reflection__V1__FileDescriptorResponse file =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    file.n_file_descriptor_proto = 1;
    file.file_descriptor_proto = &d;
    out->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
    out->file_descriptor_response = &file;
    (void)wire_send(c, out);
}

static void send_services(rpc_call *c, response *out)
{
    Grpc__Reflection__V1__ServiceResponse rows[ARRAY_LEN(files)], *list[ARRAY_LEN(files)];
    Grpc__Reflection__V1__ListServiceResponse services =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        grpc__reflection__v1__service_response__init(&rows[i]);
        rows[i].name = (char *)(uintptr_t)files[i].service;
        list[i] = &rows[i];
    }
    services.n_service = ARRAY_LEN(files);
    services.service = list;
    out->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    out->list_services_response = &services;
    (void)wire_send(c, out);
}

static void send_error(rpc_call *c, response *out, rpc_code code, const char *text)
{
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    error.error_code = code;
    error.error_message = (char *)(uintptr_t)text;
    out->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    out->error_response = &error;
    (void)wire_send(c, out);
}

static void answer(rpc_call *c, request *r)
{
    response out = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    out.valid_host = r->host;
    out.original_request = r;
    const proto_file *f = NULL;
    switch (r->message_request_case) {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        send_services(c, &out);
        return;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        f = file_by_name(r->file_by_filename);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        f = file_of_symbol(r->file_containing_symbol);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        send_error(c, &out, RPC_NOT_FOUND, "there are no extensions");
        return;
    default:
        send_error(c, &out, RPC_INVALID_ARGUMENT, "nothing was asked");
        return;
    }
    if (f)
        send_file(c, &out, f);
    else
        send_error(c, &out, RPC_NOT_FOUND, "no such file or symbol");
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
