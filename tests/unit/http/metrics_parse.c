#include "unit/http/metrics_parse.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/utf8.h"

#define REFUSE(line, ...)                                                                          \
    do {                                                                                           \
        print_error("refused: %s\n  ", (line));                                                    \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

/* The family whose lines are being read. */
struct family {
    char name[128], kind[16];
    bool has_help, has_type, has_unit, has_sample;
    /* Of the histogram whose buckets are being read: */
    char series[512]; /* its labels without le */
    double le, bucket;
    bool has_sum, has_inf, is_open;
};

struct reader {
    struct parsed p;
    struct family family;
    bool is_openmetrics, has_end;
};

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_name(const char *s, size_t len)
{
    if (len == 0 || isdigit((unsigned char)s[0])) return false;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)s[i]) && s[i] != '_') return false;
    }
    return true;
}

static void end_series(struct reader *r, const char *line)
{
    struct family *f = &r->family;
    if (f->is_open) REFUSE(line, "before it, the histogram %s%s has no end", f->name, f->series);
}

static void end_family(struct reader *r, const char *line)
{
    struct family *f = &r->family;
    end_series(r, line);
    if (f->name[0] == '\0') return;
    if (!f->has_help || !f->has_type) REFUSE(line, "%s lacks HELP or TYPE", f->name);
    if (!f->has_sample) REFUSE(line, "%s has no samples", f->name);
    *f = (struct family){0};
}

/* "# HELP name text": the line belongs to the family of that name, which may begin with it. */
static char *meta(struct reader *r, char *line, const char *word)
{
    char *name = line + 2 + strlen(word) + 1;
    size_t len = strcspn(name, " ");
    if (!is_name(name, len) || name[len] != ' ') REFUSE(line, "no name");
    bool is_same = strlen(r->family.name) == len && strncmp(r->family.name, name, len) == 0;
    if (!is_same) {
        end_family(r, line);
        char *kept = strndup(name, len);
        for (size_t i = 0; i < r->p.family_count; i++) {
            if (strcmp(r->p.families[i], kept) == 0) REFUSE(line, "a family comes twice");
        }
        r->p.families = realloc(r->p.families, (r->p.family_count + 1) * sizeof(char *));
        r->p.families[r->p.family_count++] = kept;
        snprintf(r->family.name, sizeof r->family.name, "%s", kept);
    }
    if (r->family.has_sample) REFUSE(line, "it comes after samples");
    return name + len + 1;
}

static bool ends_with(const char *s, const char *end)
{
    size_t len = strlen(s);
    size_t end_len = strlen(end);
    return len > end_len && strcmp(s + len - end_len, end) == 0;
}

static void read_comment(struct reader *r, char *line)
{
    static const char *const kinds[] = {"gauge", "counter", "histogram", "info"};
    struct family *f = &r->family;
    if (starts(line, "# HELP ")) {
        char *text = meta(r, line, "HELP");
        if (f->has_help) REFUSE(line, "a second HELP");
        if (text[0] == '\0' || strpbrk(text, "\\\"") != NULL) REFUSE(line, "no plain text");
        f->has_help = true;
    } else if (starts(line, "# TYPE ")) {
        char *kind = meta(r, line, "TYPE");
        if (f->has_type) REFUSE(line, "a second TYPE");
        f->has_type = true;
        bool is_known = false;
        for (int i = 0; i < (r->is_openmetrics ? 4 : 3); i++) {
            is_known = is_known || strcmp(kind, kinds[i]) == 0;
        }
        if (!is_known) REFUSE(line, "an unknown kind");
        snprintf(f->kind, sizeof f->kind, "%s", kind);
        bool is_total = ends_with(f->name, "_total");
        if (strcmp(kind, "counter") == 0 && is_total == r->is_openmetrics) {
            REFUSE(line, "_total belongs to Prometheus's names of counters alone");
        }
        if (strcmp(kind, "counter") != 0 && is_total) REFUSE(line, "it is no counter");
    } else if (starts(line, "# UNIT ") && r->is_openmetrics) {
        char *unit = meta(r, line, "UNIT");
        char end[32];
        snprintf(end, sizeof end, "_%s", unit);
        if (f->has_unit || !ends_with(f->name, end)) REFUSE(line, "not its unit");
        f->has_unit = true;
    } else if (strcmp(line, "# EOF") == 0 && r->is_openmetrics) {
        end_family(r, line);
        r->has_end = true;
    } else {
        REFUSE(line, "an unknown comment");
    }
}

/* One label from `at` on: its name is there, its value goes to `value`; after it. */
static char *read_label(const char *line, char *at, char *value)
{
    size_t len = strcspn(at, "=");
    if (!is_name(at, len) || at[len] != '=' || at[len + 1] != '"') REFUSE(line, "no label");
    at += len + 2;
    for (; *at != '"'; at++) {
        if (*at == '\0') REFUSE(line, "a label's value has no end");
        if (*at == '\\') {
            at++;
            if (strchr("\\\"n", *at) == NULL || *at == '\0') REFUSE(line, "an unknown escape");
        }
        *value++ = *at;
    }
    *value = '\0';
    return at + 1;
}

static double read_number(const char *line, const char *text)
{
    char *end = NULL;
    if (strcmp(text, "+Inf") == 0) return HUGE_VAL;
    if (text[0] == '\0' || strspn(text, "0123456789.e-") != strlen(text)) REFUSE(line, "no number");
    double value = strtod(text, &end);
    if (*end != '\0' || end == text) REFUSE(line, "no number");
    return value;
}

static void read_bucket(struct reader *r, const char *line, const char *series, const char *le,
                        double value)
{
    struct family *f = &r->family;
    double bound = read_number(line, le);
    if (!f->is_open) {
        f->is_open = true;
        f->has_sum = f->has_inf = false;
        f->le = -1;
        f->bucket = 0;
        snprintf(f->series, sizeof f->series, "%s", series);
    }
    if (strcmp(f->series, series) != 0) REFUSE(line, "buckets of %s are not together", f->series);
    if (bound <= f->le) REFUSE(line, "bounds do not grow");
    if (value < f->bucket) REFUSE(line, "buckets are not cumulative");
    f->le = bound;
    f->bucket = value;
    f->has_inf = isinf(bound);
}

static void check_kind(struct reader *r, const char *line, const char *end, const char *series,
                       const char *le, double value)
{
    struct family *f = &r->family;
    bool is_counter = strcmp(f->kind, "counter") == 0;
    if (strcmp(f->kind, "histogram") == 0) {
        if (strcmp(end, "_bucket") == 0 && le != NULL) {
            read_bucket(r, line, series, le, value);
            return;
        }
        if (!f->is_open || !f->has_inf) REFUSE(line, "no bucket +Inf before it");
        if (strcmp(f->series, series) != 0) REFUSE(line, "it is of another histogram");
        if (strcmp(end, "_sum") == 0 && !f->has_sum) {
            f->has_sum = true;
        } else if (strcmp(end, "_count") == 0 && f->has_sum) {
            if (value != f->bucket) REFUSE(line, "_count is not the bucket +Inf");
            f->is_open = false;
        } else {
            REFUSE(line, "no sample of a histogram");
        }
        return;
    }
    if (le != NULL) REFUSE(line, "a bucket of what is no histogram");
    const char *wanted = !r->is_openmetrics             ? ""
                         : is_counter                   ? "_total"
                         : strcmp(f->kind, "info") == 0 ? "_info"
                                                        : "";
    if (strcmp(end, wanted) != 0) REFUSE(line, "not the name of a sample of this family");
    if (is_counter && value < 0) REFUSE(line, "a counter below 0");
}

static void read_sample(struct reader *r, char *line)
{
    char series[512] = "";
    char value[1024];
    char le[sizeof value];
    bool has_le = false;
    size_t name_len = strcspn(line, "{ ");
    char *at = line + name_len;
    struct family *f = &r->family;
    size_t family_len = strlen(f->name);
    if (!is_name(line, name_len)) REFUSE(line, "no name");
    if (!f->has_help || !f->has_type) REFUSE(line, "a sample before HELP and TYPE");
    if (name_len < family_len || strncmp(line, f->name, family_len) != 0) {
        REFUSE(line, "a sample outside of its family %s", f->name);
    }
    char end[32];
    snprintf(end, sizeof end, "%.*s", (int)(name_len - family_len), line + family_len);
    if (*at == '{') {
        do {
            char *label = ++at;
            at = read_label(line, at, value);
            if (starts(label, "le=")) {
                has_le = true;
                snprintf(le, sizeof le, "%s", value);
            } else {
                size_t len = strlen(series);
                snprintf(series + len, sizeof series - len, "%.*s,", (int)(at - label), label);
            }
        } while (*at == ',');
        if (*at++ != '}') REFUSE(line, "labels have no end");
    }
    if (*at != ' ') REFUSE(line, "no blank before the number");
    *at = '\0';
    double number = read_number(line, at + 1);
    check_kind(r, line, end, series, has_le ? le : NULL, number);
    f->has_sample = true;
    if (r->p.count % 256 == 0) {
        r->p.samples = realloc(r->p.samples, (r->p.count + 256) * sizeof *r->p.samples);
    }
    r->p.samples[r->p.count++] = (struct parsed_sample){.key = line, .value = number};
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct parsed_sample *)a)->key, ((const struct parsed_sample *)b)->key);
}

struct parsed parse_metrics(struct slice text, bool is_openmetrics)
{
    struct reader r = {.is_openmetrics = is_openmetrics};
    assert_true(text.len > 0 && text.data[text.len - 1] == '\n');
    assert_int_equal(utf8_valid_bytes(text), text.len);
    assert_null(memchr(text.data, '\0', text.len));
    r.p.text = strndup((const char *)text.data, text.len);
    for (char *line = r.p.text; *line != '\0';) {
        char *end = strchr(line, '\n');
        *end = '\0';
        if (r.has_end) REFUSE(line, "after the end");
        if (line[0] == '#') {
            read_comment(&r, line);
        } else {
            read_sample(&r, line);
        }
        line = end + 1;
    }
    end_family(&r, "(end)");
    assert_int_equal(r.has_end, is_openmetrics);
    qsort(r.p.samples, r.p.count, sizeof *r.p.samples, by_key);
    for (size_t i = 1; i < r.p.count; i++) {
        if (by_key(&r.p.samples[i - 1], &r.p.samples[i]) == 0) {
            REFUSE(r.p.samples[i].key, "it comes twice");
        }
    }
    return r.p;
}

void parsed_free(struct parsed *p)
{
    for (size_t i = 0; i < p->family_count; i++) free((void *)(uintptr_t)p->families[i]);
    free(p->families);
    free(p->samples);
    free(p->text);
}

static const struct parsed_sample *find(const struct parsed *p, const char *key)
{
    struct parsed_sample wanted = {.key = (char *)(uintptr_t)key};
    return bsearch(&wanted, p->samples, p->count, sizeof wanted, by_key);
}

bool parsed_has(const struct parsed *p, const char *key)
{
    return find(p, key) != NULL;
}

double parsed_value(const struct parsed *p, const char *key)
{
    const struct parsed_sample *s = find(p, key);
    if (s == NULL) fail_msg("there is no %s", key);
    return s->value;
}

bool parsed_has_family(const struct parsed *p, const char *name)
{
    for (size_t i = 0; i < p->family_count; i++) {
        if (strcmp(p->families[i], name) == 0) return true;
    }
    return false;
}

double parsed_sum(const struct parsed *p, const char *prefix)
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (starts(p->samples[i].key, prefix)) sum += p->samples[i].value;
    }
    return sum;
}
