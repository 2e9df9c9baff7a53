/* What the methods share, and the methods. Private to src/rpc. */
#ifndef RPC_SERVICE_INT_H
#define RPC_SERVICE_INT_H
#include "engine/engine.h"
#include "rpc/transport.h"
#include <pthread.h>
#include <stdatomic.h>

struct rpc_service {
    engine *e;
    atomic_bool is_serving;    /* what health says */
    atomic_bool takes_work;    /* false once set_serving(false) came after true: shutting down */
    pthread_mutex_t health_mu; /* guards the list */
    struct health_watch *health_watches;
};
void rpc_service_init(rpc_service *s, engine *e);
void rpc_service_fini(rpc_service *s);
void rpc_service_set_serving(rpc_service *s, bool on);

/* path need not end in 0. NULL: unknown. */
const rpc_method *rpc_method_find(const char *path, size_t len);

/* The methods, each in the file of its name. */
extern const rpc_method rpc_method_submit, rpc_method_prove, rpc_method_await, rpc_method_cancel,
    rpc_method_status, rpc_method_metrics, rpc_method_preload, rpc_method_evict, rpc_method_watch,
    rpc_method_list, rpc_method_timeline, rpc_method_health_check, rpc_method_health_watch,
    rpc_method_reflect, rpc_method_reflect_alpha;
#endif
