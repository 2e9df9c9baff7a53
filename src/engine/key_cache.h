/* Keys by circuit: which are there, who uses them, which one to give up. The logic is pure; loading
 * and closing are done by host workers (key_load.c), device handles by device threads. */
#ifndef ENGINE_KEY_CACHE_H
#define ENGINE_KEY_CACHE_H
#include "circuit/circuit_id.h"
#include "engine/engine.h"
#include "engine/host_task.h"
#include "groth16/share.h"
#include <stdatomic.h>

typedef enum key_state {
    KEY_LOADING,
    KEY_READY,
    KEY_FAILED, /* leaves the cache when the last user has seen it */
    KEY_CLOSING /* handles are being unloaded, then the files are closed */
} key_state;

/* A key on one device. */
typedef struct key_slot {
    void *handle;
    bool is_wanted;  /* load when the device has time: a job or a preload will need it */
    bool is_dropped; /* unload at the next chance (eviction, or its content is in doubt) */
    bool in_use;     /* prove or load is running on it */
    /* The batch that lends the device while this key has no place beside it: not before it ends. */
    const struct device_batch *waits_for;
    uint32_t n_gave_way; /* loads in a row that ended for urgent work */
    double speed;        /* partitions per second, smoothed; 0: not yet measured */
    uint32_t n_left_out; /* batches of others in a row that the device, idle, had no part in */
    bool is_cold;   /* has made nothing since the device failed: loads anew inside its next proof */
    cuzk_status st; /* of the last load */
} key_slot;

/* Someone to tell when a load or an eviction is over. */
typedef struct key_waiter {
    engine_key_fn *fn;
    void *ctx;
    uint64_t start_ns, bytes;
    bool was_loaded;
    cuzk_status st;
    host_task task; /* tells them */
    struct key_waiter *next;
} key_waiter;

/* A witness that nobody uses: as new, but its pages are there. */
typedef struct spare_witness {
    witness w;
    uint64_t bytes;      /* in the budget */
    host_task drop_task; /* here, so that freeing needs no memory */
    struct spare_witness *next;
} spare_witness;

typedef struct key_entry {
    circuit_id id;
    char name[CIRCUIT_ID_MAX];
    key_state state;
    cuzk_status st; /* why it failed */
    r1cs_shape *shape;
    g16_key *key;
    g16_vk vk; /* of the .vk file when there is one, else of the key */
    g16_pvk *pvk;
    key_slot slots[SHARE_DEVICES_MAX];
    uint32_t too_small; /* devices that can never hold it, as bits; once ready */
    bool is_kept;       /* in key_cache.kept: given up last */
    uint32_t n_users;   /* jobs that run or wait for it, preloads under way */
    uint32_t n_checks;  /* digests being computed: the file must stay, but nothing needs the key */
    atomic_bool is_unwanted; /* a check should stop */
    bool wants_check;        /* its digest is to be computed when no other one is */
    uint64_t last_used_ms, last_used_unix_ms, load_ms;
    uint64_t host_bytes;    /* reserved in the budget */
    uint64_t file_bytes;    /* the mapped key */
    uint64_t witness_bytes; /* of one partition; once ready */
    /* While there are users. n_charged of them are in the budget by themselves, the others lie in slots
     * that jobs have reserved (job.n_promised). */
    spare_witness *spares;
    uint32_t n_charged;
    key_waiter *preloads, *evictions;
    host_task close_task; /* here, so that giving up needs no memory */
    struct key_entry *next;
} key_entry;

#define KEY_CACHE_KEPT_MAX 64u

typedef struct key_cache {
    key_entry *first;
    char kept[KEY_CACHE_KEPT_MAX][CIRCUIT_ID_MAX]; /* circuits to keep warm */
    uint32_t n_kept;
    uint64_t n_hits, n_misses, n_evictions;
} key_cache;

key_entry *key_cache_find(const key_cache *c, const char *name);
/* The circuit's key is given up only when no other one can be; before its entry is made. Beyond
 * KEY_CACHE_KEPT_MAX circuits it is like the others. */
void key_cache_keep(key_cache *c, const char *name);
/* The entry, pinned. Made in state KEY_LOADING (*is_new: the caller starts the load) when it is not
 * there. NULL: out of memory. A closing entry is returned as it is: the caller has to wait until it
 * is gone. */
key_entry *key_cache_pin(key_cache *c, const circuit_id *id, bool *is_new);
void key_cache_unpin(key_entry *e, uint64_t now_ms, uint64_t now_unix_ms);
/* The least recently used ready entry without users, idle for at least min_idle_ms, other than keep; a
 * kept one only when no other entry is without users, however short its idle time. NULL: none. */
key_entry *key_cache_victim(const key_cache *c, uint64_t now_ms, uint64_t min_idle_ms,
                            const key_entry *keep);
/* When the next entry becomes idle long enough; UINT64_MAX: none will by time alone. */
uint64_t key_cache_next_victim_ms(const key_cache *c, uint64_t now_ms, uint64_t min_idle_ms);
/* The handle on a device to give up for `keep`'s: the least recently used one of a key without users,
 * else, with also_used, one that jobs will need again but nothing runs on; of kept keys, only when there
 * is neither. NULL: none. */
key_entry *key_cache_slot_victim(const key_cache *c, uint32_t dev, const key_entry *keep,
                                 bool also_used);
/* Take out of the list; the entry's contents must be released already. */
void key_cache_remove(key_cache *c, key_entry *e);
bool key_entry_has_handles(const key_entry *e);
static inline bool key_entry_fits(const key_entry *e, uint32_t dev)
{
    return !(e->too_small >> dev & 1);
}

/* Host memory of one witness and of a key, from the counts of the shape or, before there is one,
 * from the header of the key file (an upper bound). host_devices: how many devices compute in host
 * memory. */
uint64_t key_witness_bytes(uint64_t n_inputs, uint64_t n_aux, uint64_t n_dense);
uint64_t key_host_bytes(uint64_t shape_bytes, uint64_t m, uint32_t n_host_devices);
#endif
