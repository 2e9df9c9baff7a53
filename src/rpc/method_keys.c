/* PreloadSRS, EvictSRS: the engine calls back when it is done. */
#include "rpc/service_int.h"
#include "rpc/wire.h"

static void preloaded(void *ctx, cuzk_status st, bool was_loaded, uint64_t load_ms, uint64_t bytes)
{
    rpc_call *c = ctx;
    Cuzk__V1__PreloadSrsResponse out = CUZK__V1__PRELOAD_SRS_RESPONSE__INIT;
    out.already_loaded = was_loaded;
    out.load_time_ms = load_ms;
    out.size_bytes = bytes;
    if (st.code == CUZK_OK)
        wire_reply(c, &out);
    else
        rpc_call_fail_status(c, st, 1000);
    rpc_call_unref(c);
}

static void evicted(void *ctx, cuzk_status st, bool was_loaded, uint64_t load_ms, uint64_t bytes)
{
    rpc_call *c = ctx;
    Cuzk__V1__EvictSrsResponse out = CUZK__V1__EVICT_SRS_RESPONSE__INIT;
    (void)load_ms;
    out.was_loaded = was_loaded;
    out.freed_bytes = bytes;
    if (st.code == CUZK_OK)
        wire_reply(c, &out);
    else
        rpc_call_fail_status(c, st, 1000);
    rpc_call_unref(c);
}

static void preload(rpc_call *c, rpc_body *body)
{
    Cuzk__V1__PreloadSrsRequest *r =
        wire_parse(c, body, &cuzk__v1__preload_srs_request__descriptor);
    if (!r)
        return;
    rpc_call_ref(c);
    engine_preload(rpc_call_service(c)->e, r->circuit_id, preloaded, c);
    wire_free(r);
}

static void evict(rpc_call *c, rpc_body *body)
{
    Cuzk__V1__EvictSrsRequest *r = wire_parse(c, body, &cuzk__v1__evict_srs_request__descriptor);
    if (!r)
        return;
    rpc_call_ref(c);
    engine_evict(rpc_call_service(c)->e, r->circuit_id, evicted, c);
    wire_free(r);
}

const rpc_method rpc_method_preload = {.path = "/cuzk.v1.ProvingEngine/PreloadSRS",
                                       .on_message = preload};
const rpc_method rpc_method_evict = {.path = "/cuzk.v1.ProvingEngine/EvictSRS",
                                     .on_message = evict};
