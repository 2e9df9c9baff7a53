#include "circuit/proof_task.h"
#include "circuit/porep_circuit.h"
#include "circuit/post_circuit.h"
#include "circuit/update_circuit.h"
#include <stdio.h>

const char *const PROOF_KIND_NAMES[PROOF_N_KINDS] = {"porep", "winning", "window", "snap"};

uint32_t proof_task_partitions(const proof_task *t)
{
    switch (t->kind) {
    case PROOF_POREP:
        return t->in.porep.n_partitions;
    case PROOF_SNAP:
        return t->in.update.n_partitions;
    default:
        return t->in.post.n_partitions;
    }
}

uint64_t proof_task_sector_bytes(const proof_task *t)
{
    switch (t->kind) {
    case PROOF_POREP:
        return t->in.porep.sector->sector_bytes;
    case PROOF_SNAP:
        return t->in.update.config->sector_bytes;
    default:
        return t->in.post.proof.sector_bytes;
    }
}

const char *proof_task_registered(const proof_task *t)
{
    switch (t->kind) {
    case PROOF_POREP:
        return t->in.porep.registered ? t->in.porep.registered->name : NULL;
    case PROOF_SNAP:
        for (uint32_t id = 0; id < FIL_N_UPDATE_CONFIGS; id++) {
            const fil_update_proof *p = fil_update_proof_by_id(id);
            if (p && p->sector_bytes == t->in.update.config->sector_bytes)
                return p->name;
        }
        return NULL;
    default:
        return t->in.post.proof.name;
    }
}

size_t proof_task_n_public(const proof_task *t)
{
    switch (t->kind) {
    case PROOF_POREP:
        return fil_porep_n_public(&t->in.porep);
    case PROOF_SNAP:
        return FIL_UPDATE_N_PUBLIC;
    default:
        return fil_post_n_public(&t->in.post);
    }
}

void proof_task_public_inputs(const proof_task *t, uint32_t partition, fr *out)
{
    switch (t->kind) {
    case PROOF_POREP:
        fil_porep_public_inputs(&t->in.porep, partition, out);
        break;
    case PROOF_SNAP:
        fil_update_public_inputs(&t->in.update, partition, out);
        break;
    default:
        fil_post_public_inputs(&t->in.post, partition, out);
        break;
    }
}

void proof_task_param_stem(char *out, const proof_task *t)
{
    switch (t->kind) {
    case PROOF_POREP:
        fil_porep_param_stem(out, t->in.porep.sector);
        break;
    case PROOF_SNAP:
        fil_update_param_stem(out, t->in.update.config, false);
        break;
    default:
        fil_post_param_stem(out, &t->in.post.proof);
        break;
    }
}

void proof_task_circuit_name(char *out, const proof_task *t)
{
    static const char *const names[PROOF_N_KINDS] = {"PoRep", "WinningPoSt", "WindowPoSt",
                                                     "EmptySectorUpdate"};
    const char *size = t->kind == PROOF_SNAP    ? t->in.update.config->name
                       : t->kind == PROOF_POREP ? t->in.porep.sector->name
                                                : t->in.post.sector->name;
    snprintf(out, 64, "%s %s", names[t->kind], size);
}

cuzk_status proof_task_shape(r1cs_shape **out, const proof_task *t)
{
    switch (t->kind) {
    case PROOF_POREP:
        return porep_sector_shape(out, t->in.porep.sector, t->in.porep.layers,
                                  t->in.porep.n_challenges);
    case PROOF_SNAP:
        return update_circuit_shape(out, t->in.update.config, false);
    default:
        return post_proof_shape(out, &t->in.post.proof);
    }
}

cuzk_status proof_task_witness(witness *w, const r1cs_shape *shape, const proof_task *t,
                               uint32_t partition, cs_mode mode, const run_ctx *rc)
{
    switch (t->kind) {
    case PROOF_POREP:
        return porep_circuit_witness(w, shape, &t->in.porep, partition, mode, rc);
    case PROOF_SNAP:
        return update_circuit_witness(w, shape, &t->in.update, partition, mode, rc);
    default:
        return post_circuit_witness(w, shape, &t->in.post, partition, mode, rc);
    }
}
