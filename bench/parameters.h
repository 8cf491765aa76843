/* What the command line of a program sets, and how it is refused. */
#ifndef BENCH_PARAMETERS_H
#define BENCH_PARAMETERS_H

#include <stdbool.h>

#include "basics.h"

#ifndef BENCH_QUESTION
#error "define BENCH_QUESTION before bench.h is included"
#endif

/* A row is a positional number or an option ("--name").  Usage, parser and printed line are made from the rows.
 * With words ("none|first") the value is the index of one of them.  An option without words is a switch. */
struct bench_param {
    const char *name;
    const char *words;
    uint64_t value;    /* the default, unless it is required */
    uint64_t min, max; /* of a number; 0 as max means UINT32_MAX, so that a product of two never overflows */
    bool required;
};

static struct {
    const char *name;
    struct bench_param *params;
    size_t count;
} bench_program;

static inline bool bench_is_option(const struct bench_param *p)
{
    return p->name[0] == '-';
}

/* Copies the index-th of words to out.  Returns false if there are fewer. */
static inline bool bench_word(const char *words, uint64_t index, char out[16])
{
    for (; index > 0; index--) {
        words = strchr(words, '|');
        if (!words) return false;
        words++;
    }
    snprintf(out, 16, "%.*s", (int)strcspn(words, "|"), words);
    return true;
}

/* Ends a run that cannot do what was asked for.  exit would flush half a line to stdout. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", bench_program.name);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nusage: %s", bench_program.name);
    for (size_t i = 0; i < bench_program.count; i++) {
        const struct bench_param *p = &bench_program.params[i];
        fprintf(stderr, " %s%s%s%s%s", p->required ? "<" : "[", p->name, p->words ? " " : "", p->words ? p->words : "",
                p->required ? ">" : "]");
    }
    fprintf(stderr, "\n%s\n", BENCH_QUESTION);
    _exit(2);
}

static inline void bench_parse_word(struct bench_param *p, const char *text)
{
    char word[16];
    for (p->value = 0; bench_word(p->words, p->value, word); p->value++)
        if (strcmp(word, text) == 0) return;
    bench_refuse("%s must be one of %s, not %s", p->name, p->words, text);
}

static inline void bench_parse_number(struct bench_param *p, const char *text)
{
    char *end = NULL;
    uint64_t max = p->max ? p->max : UINT32_MAX;
    p->value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || p->value < p->min || p->value > max)
        bench_refuse("%s must be a number from %llu to %llu, not %s", p->name, (unsigned long long)p->min,
                     (unsigned long long)max, text);
}

/* The row of this argument.  *position is the row after the last positional one that was given. */
static inline struct bench_param *bench_param_of(const char *argument, size_t *position)
{
    struct bench_param *params = bench_program.params;
    if (argument[0] == '-') {
        for (size_t i = 0; i < bench_program.count; i++)
            if (strcmp(params[i].name, argument) == 0) return &params[i];
        bench_refuse("no option %s", argument);
    }
    while (*position < bench_program.count && bench_is_option(&params[*position])) ++*position;
    if (*position == bench_program.count) bench_refuse("too many arguments at %s", argument);
    return &params[(*position)++];
}

static inline void bench_parse(int argc, char **argv)
{
    size_t position = 0;
    for (int i = 1; i < argc; i++) {
        struct bench_param *p = bench_param_of(argv[i], &position);
        bool value_follows = bench_is_option(p) && p->words;
        if (value_follows && ++i == argc) bench_refuse("%s needs one of %s", p->name, p->words);
        if (bench_is_option(p) && !p->words)
            p->value = 1;
        else if (p->words)
            bench_parse_word(p, argv[i]);
        else
            bench_parse_number(p, argv[i]);
    }
    for (; position < bench_program.count; position++)
        if (bench_program.params[position].required) bench_refuse("%s is missing", bench_program.params[position].name);
}

#endif
