/* Option tables over getopt_long: parsing and --help come from the same rows. */
#include "build_facts.h"
#include "cli/cli.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTS 32

static void print_help(const cli_cmd *cmd, const cli_opt *opts, size_t n)
{
    printf("Usage: cuzk %s [OPTIONS] %s\n\n%s\n", cmd->name, cmd->args, cmd->summary);
    if (cmd->details)
        printf("\n%s\n", cmd->details);
    printf("\nOptions:\n");
    for (size_t i = 0; i < n; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", opts[i].name, opts[i].arg ? " " : "",
                 opts[i].arg ? opts[i].arg : "");
        printf("  %-26s %s\n", left, opts[i].help);
    }
    printf("  %-26s %s\n", "--help", "this text");
}

int cli_usage(const cli_cmd *cmd, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "cuzk %s: ", cmd->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry `cuzk %s --help`.\n", cmd->name);
    return CLI_USAGE;
}

static size_t all_options(cli_opt *out, const cli_opt *opts, size_t n, cli_common *c)
{
    const cli_opt common[] = {
        {"threads", "N", "threads to use (default: the CPUs this process may use)", &c->threads,
         NULL},
        {"trace", "FILE", "write a Chrome/Perfetto trace of where the time went", &c->trace, NULL},
        {"json", NULL, "machine-readable output on stdout", NULL, &c->json},
        {"quiet", NULL, "no progress on stderr", NULL, &c->quiet},
    };
    if (n > 0) /* some commands have none: NULL */
        memcpy(out, opts, n * sizeof *out);
    memcpy(out + n, common, sizeof common);
    return n + ARRAY_LEN(common);
}

/* -o is --out where a command has it. */
static int short_out(const cli_opt *opts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(opts[i].name, "out") == 0)
            return (int)i + 256;
    return '?';
}

static void make_longs(struct option *longs, const cli_opt *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        longs[i] = (struct option){all[i].name, all[i].arg ? required_argument : no_argument, NULL,
                                   (int)i + 256};
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};
    longs[n + 1] = (struct option){0};
}

/* The options of argv into their places; -1 with *exit_code when the command ends here. */
static int parse_options(const cli_cmd *cmd, const cli_opt *all, size_t n, int argc, char **argv,
                         int *exit_code)
{
    struct option longs[MAX_OPTS + 2];
    make_longs(longs, all, n);
    optind = 1;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":ho:", longs, NULL)) != -1;) {
        if (o == 'h') {
            print_help(cmd, all, n);
            *exit_code = CLI_DONE;
            return -1;
        }
        if (o == 'o')
            o = short_out(all, n);
        if (o < 256) {
            *exit_code = cli_usage(
                cmd, o == ':' ? "option %s needs a value" : "unknown or ambiguous option %s",
                argv[optind - 1]);
            return -1;
        }
        const cli_opt *opt = &all[o - 256];
        if (opt->flag)
            *opt->flag = true;
        else
            *opt->value = optarg;
    }
    return 0;
}

int cli_parse(const cli_cmd *cmd, const cli_opt *opts, size_t n_opts, cli_common *common, int argc,
              char **argv, const cli_pos *pos)
{
    cli_opt all[MAX_OPTS];
    *common = (cli_common){0};
    *pos->n = 0;
    CUZK_ASSERT(n_opts + 4 <= MAX_OPTS);
    size_t n = all_options(all, opts, n_opts, common);
    if (parse_options(cmd, all, n, argc, argv, pos->exit_code) != 0)
        return -1;
    for (; optind < argc; optind++) {
        if (*pos->n == pos->max) {
            *pos->exit_code = cli_usage(cmd, "unexpected argument \"%.60s\"", argv[optind]);
            return -1;
        }
        pos->args[(*pos->n)++] = argv[optind];
    }
    return 0;
}

cuzk_status cli_parse_u64(uint64_t *out, const char *option, const char *text, uint64_t max)
{
    uint64_t v = 0;
    bool ok = *text != 0;
    for (const char *p = text; *p && ok; p++) {
        ok = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(v, 10, &v) &&
             !__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    }
    if (!ok || v > max)
        return cuzk_fail(CUZK_E_USAGE, "%s: expected an integer from 0 to %llu, found \"%.40s\"",
                         option, (unsigned long long)max, text);
    *out = v;
    return cuzk_ok();
}

cuzk_status cli_parse_fr(fr *out, const char *option, const char *text)
{
    fr acc = FR_ZERO, base, d;
    bool hex = text[0] == '0' && text[1] == 'x';
    const char *p = hex ? text + 2 : text;
    size_t len = strlen(p);
    fr_from_u64(&base, hex ? 16 : 10);
    bool ok = len >= 1 && len <= (hex ? 63 : 76); /* below 2^252: no wrap around r to think about */
    for (; *p && ok; p++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, *p);
        ok = at && at - digits < (hex ? 16 : 10);
        if (!ok)
            break;
        fr_from_u64(&d, (uint64_t)(at - digits));
        fr_mul(&acc, &acc, &base);
        fr_add(&acc, &acc, &d);
    }
    if (!ok)
        return cuzk_fail(
            CUZK_E_USAGE,
            "%s: expected a decimal or 0x-hexadecimal number below 2^252, found \"%.40s\"", option,
            text);
    *out = acc;
    return cuzk_ok();
}

cuzk_status cli_parse_toxic(g16_toxic *t, const char *text)
{
    char buf[512];
    fr *at[5] = {&t->alpha, &t->beta, &t->gamma, &t->delta, &t->tau};
    if (!CUZK_HAS_TEST_HOOKS)
        return cuzk_fail(CUZK_E_USAGE, "--test-toxic: a key from known values lets anybody forge "
                                       "proofs; only builds with test hooks have it");
    if (snprintf(buf, sizeof buf, "%s", text) >= (int)sizeof buf)
        return cuzk_fail(CUZK_E_USAGE, "--test-toxic: expected five numbers, found %zu characters",
                         strlen(text));
    char *p = buf;
    for (int i = 0; i < 5; i++) {
        char *comma = strchr(p, ',');
        if ((comma == NULL) != (i == 4))
            return cuzk_fail(CUZK_E_USAGE,
                             "--test-toxic: expected alpha,beta,gamma,delta,tau, found \"%.60s\"",
                             text);
        if (comma)
            *comma = 0;
        CUZK_TRY(cli_parse_fr(at[i], "--test-toxic", p));
        p = comma ? comma + 1 : p;
    }
    return cuzk_ok();
}
