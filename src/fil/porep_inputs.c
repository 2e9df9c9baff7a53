#include "fil/porep.h"
#include <string.h>

size_t fil_porep_n_public(const fil_porep *p) { return FIL_POREP_INPUTS(p->n_challenges); }

/* The order of circuits.md D.1: the TreeD path, 6 + 8 parents, the number itself, the TreeR and own
 * TreeC paths. */
void fil_porep_public_inputs(const fil_porep *p, uint32_t partition, fr *out)
{
    *out++ = p->replica_id;
    *out++ = p->comm_d;
    *out++ = p->comm_r;
    for (uint32_t i = 0; i < p->n_challenges; i++) {
        const fil_porep_challenge *c = &p->partitions[partition][i];
        fr_from_u64(out++, fil_path_index(&c->comm_d));
        for (unsigned j = 0; j < FIL_DRG_DEGREE; j++)
            fr_from_u64(out++, fil_path_index(&c->drg[j].path));
        for (unsigned j = 0; j < FIL_EXP_DEGREE; j++)
            fr_from_u64(out++, fil_path_index(&c->exp[j].path));
        fr_from_u64(out++, c->challenge);
        fr_from_u64(out++, fil_path_index(&c->comm_r_last));
        fr_from_u64(out++, fil_path_index(&c->c_x.path));
    }
}

cuzk_status fil_porep_statement_inputs(fr *out, const fil_porep_statement *s, uint32_t partition)
{
    uint64_t challenges[18]; /* the most any partition has (circuits.md D.1) */
    uint32_t n = s->sector->challenges, drg[FIL_DRG_DEGREE], expander[FIL_EXP_DEGREE];
    CUZK_VERIFY(n <= ARRAY_LEN(challenges));
    CUZK_TRY(fil_challenges(challenges, n, partition, s->version, s->sector->n_nodes,
                            &s->replica_id, &s->comm_r, s->seed));
    fil_graph g;
    fil_graph_init(&g, s->sector->n_nodes, s->porep_id, s->version == FIL_SEAL_V1);
    *out++ = s->replica_id;
    *out++ = s->comm_d;
    *out++ = s->comm_r;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t c = challenges[i];
        fil_graph_drg_parents(&g, drg, c);
        fil_graph_exp_parents(&g, expander, c);
        fr_from_u64(out++, c);
        for (unsigned j = 0; j < FIL_DRG_DEGREE; j++)
            fr_from_u64(out++, drg[j]);
        for (unsigned j = 0; j < FIL_EXP_DEGREE; j++)
            fr_from_u64(out++, expander[j]);
        for (unsigned j = 0; j < 3; j++)
            fr_from_u64(out++, c);
    }
    return cuzk_ok();
}
