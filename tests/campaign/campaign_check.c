/* campaign_check <file>...: judges the history that the files have together (judge.h). Prints what
 * is wrong with it, then one line of counts; ends with 1 when something is.
 */
#include <stdlib.h>
#include <string.h>

#include "campaign/judge.h"

static void take_file(struct history *h, const char *path)
{
    FILE *f = fopen(path, "r");
    size_t line = f != NULL ? history_take_file(h, f) : 1;
    if (f != NULL) fclose(f);
    if (line == 0) return;
    fprintf(stderr, "campaign_check: %s: line %zu cannot be read\n", path, line);
    exit(2);
}

int main(int argc, char **argv)
{
    struct history h;
    history_init(&h);
    for (int i = 1; i < argc; i++) take_file(&h, argv[i]);
    struct judge_result r = judge_history(&h, stdout);
    printf(
        "operations=%zu acknowledged=%zu unknown=%zu refused=%zu reads=%zu looks=%zu takes=%zu commits=%zu "
        "gap_ms=%lld problems=%zu\n",
        h.ops.count, r.acknowledged, r.unknown, r.refused, r.reads, r.looks, r.takes, h.feed.count,
        (long long)(r.gap_us / 1000), r.problems);
    history_fini(&h);
    return r.problems > 0;
}
