/* A fixed script of calls and what the store must hold after each: for tests that stop it anywhere. */
#ifndef STORE_SCRIPT_H
#define STORE_SCRIPT_H
#include "store_test.h"

#define SCRIPT_JOBS 5

typedef enum script_op { OP_SUBMIT, OP_MOVE, OP_PART, OP_FINISH, OP_TIMELINE, OP_PRUNE } script_op;

typedef struct script_step {
    script_op op;
    uint32_t job, arg; /* arg: state, partition, most jobs to keep */
} script_step;

static const script_step SCRIPT[] = {
    {OP_SUBMIT, 0, 0},
    {OP_MOVE, 0, JOB_DECODING},
    {OP_SUBMIT, 1, 0},
    {OP_MOVE, 0, JOB_PROVING},
    {OP_PART, 0, 0},
    {OP_PART, 0, 1},
    {OP_SUBMIT, 2, 0},
    {OP_MOVE, 1, JOB_PROVING},
    {OP_MOVE, 0, JOB_VERIFYING},
    {OP_FINISH, 0, 0},
    {OP_TIMELINE, 0, 0},
    {OP_PART, 1, 2},
    {OP_MOVE, 2, JOB_FAILED},
    {OP_SUBMIT, 3, 0},
    {OP_FINISH, 1, 0},
    {OP_PRUNE, 0, 2},
    {OP_MOVE, 3, JOB_PROVING},
    {OP_PART, 3, 5},
    {OP_MOVE, 3, JOB_CANCELLED},
    {OP_SUBMIT, 4, 0},
    {OP_PRUNE, 0, 1},
};
#define SCRIPT_STEPS ARRAY_LEN(SCRIPT)

static inline cuzk_status script_run_step(store *s, size_t i)
{
    const script_step *step = &SCRIPT[i];
    store_job j = make_job(step->job);
    snprintf(j.view.job_id, sizeof j.view.job_id, "%s", j.view.request_id);
    uint8_t proof[192];
    uint32_t n;
    switch (step->op) {
    case OP_SUBMIT: {
        bool existing;
        cuzk_status st = submit_blob(s, &j, step->job, 3000, &existing);
        return st.code == CUZK_OK && existing ? cuzk_fail(CUZK_E_INTERNAL, "existed") : st;
    }
    case OP_MOVE:
        return move_to(s, &j, (job_state)step->arg);
    case OP_PART:
        make_proof(proof, step->job, step->arg);
        return s->ops->put_partition(s, j.view.job_id, step->arg, proof);
    case OP_FINISH:
        return finish_job_of(s, &j, step->job);
    case OP_TIMELINE:
        return s->ops->put_timeline(s, j.view.job_id, "{\"spans\":[]}", 10);
    default:
        return s->ops->prune(s, 1u << 30, 0, step->arg, &n);
    }
}

typedef struct script_model {
    bool exists[SCRIPT_JOBS], has_part[SCRIPT_JOBS][8], has_timeline[SCRIPT_JOBS];
    job_state state[SCRIPT_JOBS];
} script_model;

static inline void script_model_step(script_model *m, const script_step *step)
{
    uint32_t j = step->job, n_final = 0;
    switch (step->op) {
    case OP_SUBMIT:
        m->exists[j] = true;
        m->state[j] = JOB_QUEUED;
        break;
    case OP_MOVE:
        m->state[j] = (job_state)step->arg;
        break;
    case OP_PART:
        m->has_part[j][step->arg] = true;
        break;
    case OP_FINISH:
        m->state[j] = JOB_DONE;
        break;
    case OP_TIMELINE:
        m->has_timeline[j] = true;
        break;
    default:
        for (j = SCRIPT_JOBS; j-- > 0;)
            if (m->exists[j] && job_state_is_final(m->state[j]) && ++n_final > step->arg)
                m->exists[j] = false;
    }
    for (j = 0; j < SCRIPT_JOBS; j++)
        if (job_state_is_final(m->state[j]))
            memset(m->has_part[j], 0, sizeof m->has_part[j]);
}

static inline bool script_blob_is(store *s, const char *id, uint32_t j, bool live)
{
    uint8_t *got, *want = make_blob(j, 3000);
    size_t len;
    cuzk_status st = s->ops->get_request(s, id, &got, &len);
    bool same = live ? st.code == CUZK_OK && len == 3000 && memcmp(got, want, len) == 0
                     : st.code == CUZK_E_NOT_FOUND;
    mem_free(got);
    free(want);
    return same;
}

static inline bool script_proof_is(store *s, const char *id, uint32_t j, bool done)
{
    uint8_t *got, want[192];
    size_t len;
    make_proof(want, j, 99);
    cuzk_status st = s->ops->get_proof(s, id, &got, &len);
    bool same = done ? st.code == CUZK_OK && len == 192 && memcmp(got, want, len) == 0
                     : st.code == CUZK_E_NOT_FOUND;
    mem_free(got);
    return same;
}

/* Does the store hold exactly what it must after n steps? */
static inline bool script_matches(store *s, size_t n)
{
    script_model m = {0};
    for (size_t i = 0; i < n; i++)
        script_model_step(&m, &SCRIPT[i]);
    for (uint32_t j = 0; j < SCRIPT_JOBS; j++) {
        char id[32], *json;
        store_job got;
        uint8_t parts[8][192], want[192];
        bool have[8];
        snprintf(id, sizeof id, "req-%u", j);
        cuzk_status st = s->ops->get(s, id, &got);
        if (!m.exists[j] ? st.code != CUZK_E_NOT_FOUND
                         : st.code != CUZK_OK || got.view.state != m.state[j])
            return false;
        if (!m.exists[j])
            continue;
        if (!script_blob_is(s, id, j, !job_state_is_final(m.state[j])) ||
            !script_proof_is(s, id, j, m.state[j] == JOB_DONE) ||
            s->ops->get_partitions(s, id, parts, have, 8).code != CUZK_OK)
            return false;
        for (uint32_t k = 0; k < 8; k++) {
            make_proof(want, j, k);
            if (have[k] != m.has_part[j][k] || (have[k] && memcmp(parts[k], want, 192) != 0))
                return false;
        }
        st = s->ops->get_timeline(s, id, &json);
        mem_free(json);
        if (st.code != (m.has_timeline[j] ? CUZK_OK : CUZK_E_NOT_FOUND))
            return false;
    }
    return true;
}
#endif
