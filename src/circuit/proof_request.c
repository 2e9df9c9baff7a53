#include "circuit/proof_request.h"

cuzk_status proof_task_decode(proof_task *t, arena *a, const proof_request *q)
{
    *t = (proof_task){.kind = q->kind};
    switch (q->kind) {
    case PROOF_POREP:
        if (q->n_files != 1)
            return cuzk_bad_input("vanilla_proof", "one C1 document", "%u", q->n_files);
        return fil_porep_decode(&t->in.porep, a, q->files[0], q->lens[0]);
    case PROOF_SNAP:
        return fil_update_decode(&t->in.update, a, q->update, q->files, q->lens, q->n_files);
    default:
        return fil_post_decode(&t->in.post, a, &q->post, q->files, q->lens, q->n_files);
    }
}

cuzk_status proof_task_check(proof_task *t, const proof_request *q, const run_ctx *rc)
{
    switch (q->kind) {
    case PROOF_POREP:
        return fil_porep_check(&t->in.porep, &q->porep, rc);
    case PROOF_SNAP:
        return fil_update_check(&t->in.update, &q->update_context, rc);
    default:
        return fil_post_check(&t->in.post, &q->post_context, rc);
    }
}
