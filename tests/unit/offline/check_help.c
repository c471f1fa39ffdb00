#include "unit/offline/check_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void on_found(void *arg, const struct check_line *line)
{
    struct looks *t = arg;
    t->told++;
    buf_printf(&t->lines, "%s %s %s: %s\n", line->kind == CHECK_DAMAGE ? "damage" : "note",
               line->part, line->place, line->text);
}

int looks_enter(void **state)
{
    static struct looks bench;
    bench = (struct looks){.e = {.text = ""}};
    rig_init(&bench.rig);
    bench.k = (struct check){.dir = bench.rig.dir, .found = on_found, .arg = &bench};
    *state = &bench;
    return 0;
}

int looks_leave(void **state)
{
    struct looks *t = *state;
    rig_fini(&t->rig);
    buf_fini(&t->lines);
    return 0;
}

static void looks_begin(struct looks *t)
{
    const struct check wanted = t->k;
    buf_clear(&t->lines, SIZE_MAX);
    t->told = 0;
    t->k = (struct check){.dir = wanted.dir,
                          .found = wanted.found,
                          .arg = wanted.arg,
                          .files_only = wanted.files_only,
                          .scratch = wanted.scratch};
}

void looks_run(struct looks *t)
{
    looks_begin(t);
    if (check_run(&t->k, &t->e) != OK) fail_msg("%s", t->e.text);
    buf_append_byte(&t->lines, '\0');
    t->lines.len--;
}

void looks_found(struct looks *t, const char *kind_part_place, const char *text)
{
    const char *at = (const char *)t->lines.data;
    for (; *at != '\0'; at += strcspn(at, "\n") + 1) {
        const char *found = strstr(at, text);
        bool is_it = strncmp(at, kind_part_place, strlen(kind_part_place)) == 0;
        if (is_it && found != NULL && found < at + strcspn(at, "\n")) return;
    }
    fail_msg("no line '%s ... %s' in\n%s", kind_part_place, text, (const char *)t->lines.data);
}
