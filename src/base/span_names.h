/* Every span name there is: responses, metrics and traces derive from these, so they agree. */
#ifndef BASE_SPAN_NAMES_H
#define BASE_SPAN_NAMES_H

/* A whole run of one command, or of one proof set. */
#define SPAN_RUN "run"
#define SPAN_PROVE "prove"
#define SPAN_PARTITION "partition"
#define SPAN_SETUP "setup"
#define SPAN_GEN "gen"
#define SPAN_BENCH "bench"

/* Input. */
#define SPAN_READ "read"
#define SPAN_DECODE "decode"
#define SPAN_CHECK "check"
#define SPAN_WRITE "write"

/* Circuit. */
#define SPAN_SHAPE "shape"
#define SPAN_DIGEST "digest"
#define SPAN_WITNESS "witness"
#define SPAN_SATISFY "satisfy"

/* Key. */
#define SPAN_KEY_OPEN "key_open"
#define SPAN_KEY_CHECK "key_check"
#define SPAN_KEY_DECODE "key_decode"
#define SPAN_KEY_WRITE "key_write"
#define SPAN_KEY_CLOSE "key_close"
#define SPAN_VK_OPEN "vk_open"

/* Prover. */
#define SPAN_LOAD "load"
#define SPAN_EVAL "eval"
#define SPAN_QUOTIENT "quotient"
#define SPAN_NTT "ntt"
#define SPAN_POINTWISE "pointwise"
#define SPAN_MSM_H "msm_h"
#define SPAN_MSM_L "msm_l"
#define SPAN_MSM_A "msm_a"
#define SPAN_MSM_B1 "msm_b1"
#define SPAN_MSM_B2 "msm_b2"
#define SPAN_ASSEMBLE "assemble"
#define SPAN_VERIFY "verify"
#define SPAN_NTT_PLAN "ntt_plan"
#define SPAN_MASK "mask"
#define SPAN_SUM "sum"
#define SPAN_GATHER "gather"
/* Parts of a device's sum: scalars to digits, lists in order, pairs to add, additions, the results
 * put where they stay; and all that comes after the buckets. */
#define SPAN_RECODE "recode"
#define SPAN_ORDER "order"
#define SPAN_PAIRS "pairs"
#define SPAN_ADD "add"
#define SPAN_COLLECT "collect"
#define SPAN_REDUCE "reduce"
#define SPAN_TAIL "tail"
#define SPAN_UPLOAD "upload"
#define SPAN_WAIT "wait"
#define SPAN_RECOVER "recover"
#define SPAN_SELF_TEST "self_test"

/* A job of the engine: submission, waiting, stages. */
#define SPAN_JOB "job"
#define SPAN_GATE "gate"       /* the call waits for its turn to be received */
#define SPAN_RECEIVE "receive" /* its body is on the way */
#define SPAN_REQUEST "request" /* received, waits for a host worker */
#define SPAN_QUEUE "queue"
#define SPAN_BUDGET "budget"           /* the part of the queue spent waiting for memory */
#define SPAN_KEY_LOAD "key_load"       /* waits for the key: loading, or joined to a load */
#define SPAN_HOST_WAIT "host_wait"     /* a task waits for a host worker */
#define SPAN_DEVICE_WAIT "device_wait" /* a partition waits for a device */
#define SPAN_DEVICE "device"           /* a batch on a device */
#define SPAN_YIELD "yield"             /* the device is lent to something more urgent */
#define SPAN_COMPANION "companion"     /* the batch makes another job's partition */
#define SPAN_JOURNAL "journal"
#define SPAN_REPLY "reply" /* those who wait are told */

/* Set-up. */
#define SPAN_SETUP_POWERS "setup_powers"
#define SPAN_SETUP_LAGRANGE "setup_lagrange"
#define SPAN_SETUP_QUERIES "setup_queries"
#define SPAN_SETUP_MUL "setup_mul"
#define SPAN_SCALARS "scalars"
#define SPAN_FIXED_MUL "fixed_mul"
#define SPAN_ENCODE "encode"

/* Giving memory back: visible on purpose, see docs/architecture.md. */
#define SPAN_ALLOC "alloc"
#define SPAN_FREE "free"
#endif
