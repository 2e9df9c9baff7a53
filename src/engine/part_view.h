/* Partitions of running jobs and of those that ended just now, for snapshots. All with the lock held. */
#ifndef ENGINE_PART_VIEW_H
#define ENGINE_PART_VIEW_H
#include "engine/engine.h"
#include "engine/job_table.h"

/* Remember the partitions of a job that ended and leaves memory, for ENGINE_ENDED_SHOWN_MS. */
void part_view_keep(engine *e, const job *j);
/* Fill s->job_parts and s->parts. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status part_view_take(engine *e, engine_snapshot *s);
void part_view_fini(engine *e);
#endif
