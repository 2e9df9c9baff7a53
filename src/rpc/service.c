/* Table of methods. */
#include "rpc/service_int.h"
#include <string.h>

static const rpc_method *const methods[] = {
    &rpc_method_submit,       &rpc_method_prove,    &rpc_method_await,
    &rpc_method_cancel,       &rpc_method_status,   &rpc_method_metrics,
    &rpc_method_preload,      &rpc_method_evict,    &rpc_method_watch,
    &rpc_method_list,         &rpc_method_timeline, &rpc_method_health_check,
    &rpc_method_health_watch, &rpc_method_reflect,  &rpc_method_reflect_alpha,
};

const rpc_method *rpc_method_find(const char *path, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (strlen(methods[i]->path) == len && memcmp(methods[i]->path, path, len) == 0)
            return methods[i];
    return NULL;
}

void rpc_service_init(rpc_service *s, engine *e)
{
    s->e = e;
    atomic_init(&s->is_serving, false);
    atomic_init(&s->takes_work, true);
    pthread_mutex_init(&s->health_mu, NULL);
}

void rpc_service_fini(rpc_service *s) { pthread_mutex_destroy(&s->health_mu); }
