/* Stacked DRG parents, challenges, labels, replica ids (circuits.md E.1 to E.5). */
#ifndef FIL_GRAPH_H
#define FIL_GRAPH_H
#include "ff/fr.h"
#include "fil/sector.h"

#define FIL_DRG_DEGREE 6u
#define FIL_EXP_DEGREE 8u
#define FIL_LABEL_PARENTS 37u

/* Immutable after init. legacy: the parent order and the 32-bit cut of V1_0_0. */
typedef struct fil_graph {
    uint64_t n_nodes;
    bool legacy;
    uint32_t half_bits; /* width of each Feistel half */
    uint8_t drg_seed[28];
    uint64_t feistel[3];
} fil_graph;
/* u64 LE registered id, then zeros. */
void fil_porep_id(uint8_t out[32], const fil_seal_proof *p);
/* n_nodes in [2, 2^32]. */
void fil_graph_init(fil_graph *g, uint64_t n_nodes, const uint8_t porep_id[32], bool legacy);
/* node < n_nodes. */
void fil_graph_drg_parents(const fil_graph *g, uint32_t parents[6], uint64_t node);
void fil_graph_exp_parents(const fil_graph *g, uint32_t parents[8], uint64_t node);
/* Challenges of partition k: n of them. comm_r only for synthetic and NI; seed not for NI (NULL
 * otherwise).
 * Errors: CUZK_E_NOMEM, CUZK_E_INTERNAL (hash library); *out is then zero (node 0 is never
 * challenged). */
CUZK_MUST_CHECK cuzk_status fil_challenges(uint64_t *out, uint32_t n, uint32_t k,
                                           fil_seal_version v, uint64_t n_nodes,
                                           const fr *replica_id, const fr *comm_r,
                                           const uint8_t seed[32]);
void fil_replica_id(fr *out, const uint8_t prover_id[32], uint64_t sector, const uint8_t ticket[32],
                    const fr *comm_d, const uint8_t porep_id[32]);
/* Payload of the actor id address: unsigned LEB128, zero padded. */
void fil_prover_id(uint8_t out[32], uint64_t miner);
/* label(layer from 1, node) from its 37 (or, for node 0, zero) parent labels. */
void fil_label(fr *out, const fr *replica_id, uint32_t layer, uint64_t node, const fr *parents,
               uint32_t n_parents);
/* Number k < 37 of the label preimage: which parent it is. Below 6: DRG parent, same layer; else
 * expander parent k - 6, layer below. */
uint32_t fil_label_parent(uint32_t layer, uint32_t k);
#endif
