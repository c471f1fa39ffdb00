/* unknown: the nearest name by edit distance among the commands there are, and the list of those
 * that only Redis has.
 */
#include "request/unknown.h"

#include <string.h>

#define NAME_MAX_BYTES 32 /* no command has a longer name */
#define SHOWN_BYTES 128   /* of the name, and of its arguments */

/* Commands of Redis, and of its modules, that are not here: as in docs/redis-commands.md. The star
 * is any end. */
static const char *const absent[] = {
    "XACKDEL",  "XDELEX",    "PFDEBUG", "PFSELFTEST", "FAILOVER",       "MIGRATE",      "PSYNC",
    "REPLCONF", "REPLICAOF", "SLAVEOF", "SYNC",       "RESTORE-ASKING", "BGREWRITEAOF", "FT.*",
    "TS.*",     "BF.*",      "CF.*",    "CMS.*",      "TOPK.*",         "TDIGEST.*",    "JSON.*"};

static bool is_absent(const char *upper)
{
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        size_t len = strlen(absent[i]);
        bool is_beginning = absent[i][len - 1] == '*';
        if (is_beginning ? strncmp(absent[i], upper, len - 1) == 0
                         : strcmp(absent[i], upper) == 0) {
            return true;
        }
    }
    return false;
}

static void to_upper(struct slice name, char out[NAME_MAX_BYTES + 1])
{
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        out[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    out[name.len] = '\0';
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to be added, left out, changed, or exchanged with the next (optimal string alignment), to
 * make one of the other; both have at most NAME_MAX_BYTES. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    size_t m = strlen(a), n = strlen(b);
    for (size_t k = 0; k <= n; k++) last[k] = k;
    for (size_t i = 1; i <= m; i++) {
        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            row[k] = least(last[k - 1] + (a[i - 1] != b[k - 1]), least(last[k], row[k - 1]) + 1);
            bool is_swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
            if (is_swapped) row[k] = least(row[k], before[k - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[n];
}

/* The nearest of these, in upper case; "" when none is near. */
static void nearest(const char *upper, const struct command *const *commands,
                    char out[NAME_MAX_BYTES + 1])
{
    size_t best = strlen(upper) < 8 ? 2 : 3; /* shorter ones are near by chance */
    out[0] = '\0';
    for (; *commands != NULL; commands++) {
        char name[NAME_MAX_BYTES + 1] = "";
        struct slice lower = slice_str((*commands)->name);
        if (lower.len > NAME_MAX_BYTES) continue;
        to_upper(lower, name);
        bool is_without_kv = strncmp(name, "KV.", 3) == 0 && strcmp(name + 3, upper) == 0;
        size_t d = is_without_kv ? 0 : distance(upper, name);
        if (d >= best) continue;
        best = d;
        memcpy(out, name, sizeof name);
    }
}

void unknown_hint(struct slice name, struct buf *out)
{
    char upper[NAME_MAX_BYTES + 1] = "";
    char near[NAME_MAX_BYTES + 1] = "";
    if (name.len < 3 || name.len > NAME_MAX_BYTES || memchr(name.data, 0, name.len) != NULL) return;
    if (command_find(name) != NULL) return; /* what is unknown is its subcommand */
    to_upper(name, upper);
    nearest(upper, command_table, near);
    bool is_of_module = strchr(upper, '.') != NULL;
    if (is_absent(upper) && !(is_of_module && near[0] != '\0')) {
        buf_append_str(out, "; tupled does not support this command of Redis: see "
                            "docs/redis-commands.md for alternatives");
    } else if (near[0] != '\0') {
        buf_printf(out, "; did you mean %s?", near);
    }
}

static void shown(struct slice word, size_t most, struct buf *out)
{
    buf_append_byte(out, '\'');
    buf_append(out, word.data, strnlen((const char *)word.data, word.len < most ? word.len : most));
    buf_append_byte(out, '\'');
}

static void reply_line(struct request *rq, struct buf *line)
{
    buf_append_byte(line, '\0');
    buf_require(line);
    resp_error_line(rq->w, (const char *)line->data);
    buf_fini(line);
}

/* Clients look for these words. */
void reply_unknown(struct request *rq)
{
    struct buf line;
    buf_init(&line);
    buf_append_str(&line, "ERR unknown command ");
    shown(rq->argv[0], SHOWN_BYTES, &line);
    buf_append_str(&line, ", with args beginning with: ");
    size_t used = 0; /* with quotes and blanks: even empty arguments use up the line */
    for (size_t i = 1; i < rq->argc && used < SHOWN_BYTES; i++) {
        size_t before = line.len;
        shown(rq->argv[i], SHOWN_BYTES - used, &line);
        buf_append_byte(&line, ' ');
        used += line.len - before;
    }
    unknown_hint(rq->argv[0], &line);
    reply_line(rq, &line);
}

void reply_unknown_subcommand(struct request *rq, const struct command *parent)
{
    struct slice name = rq->argv[1];
    char upper[NAME_MAX_BYTES + 1] = "";
    char near[NAME_MAX_BYTES + 1] = "";
    struct buf line;
    buf_init(&line);
    buf_append_str(&line, "ERR unknown subcommand ");
    shown(name, SHOWN_BYTES, &line);
    to_upper(slice_str(parent->name), upper);
    buf_printf(&line, ". Try %s HELP.", upper);
    if (name.len >= 3 && name.len <= NAME_MAX_BYTES && memchr(name.data, 0, name.len) == NULL) {
        char word[NAME_MAX_BYTES + 1] = "";
        to_upper(name, word);
        nearest(word, parent->subcommands, near);
    }
    if (near[0] != '\0') buf_printf(&line, " Did you mean %s %s?", upper, near);
    reply_line(rq, &line);
}
