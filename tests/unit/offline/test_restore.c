/* Tests of offline/restore: a base becomes a directory that a server can open, and what is refused
 * leaves nothing behind: no directory, and an archive as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/local/archive.h"
#include "base/file.h"
#include "offline/restore.h"
#include "unit/backend/local_help.h"

#define BASE_MS 1700000000000

static char dir[64]; /* what follows is in it */
static char archive[80], to[80], part[96];

struct bench {
    struct rig rig;
    struct manifest m;
    struct restore k;
    struct error e;
};

static const char *path_in(const char *where, const char *name)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", where, name);
    return path;
}

/* The database that is restored: "a" is 1. */
static int enter(void **state)
{
    static struct bench bench;
    struct bench *t = &bench;
    *t = (struct bench){.e = {.text = ""}};
    (void)snprintf(dir, sizeof dir, "/tmp/test_restore.XXXXXX");
    rig_init(&t->rig);
    assert_non_null(mkdtemp(dir));
    (void)snprintf(archive, sizeof archive, "%s/archive", dir);
    (void)snprintf(to, sizeof to, "%s/to", dir);
    (void)snprintf(part, sizeof part, "%s.restoring", to);
    assert_int_equal(dir_make(archive, &t->e), OK);
    t->k = (struct restore){.from = archive, .to = to};
    *state = t;
    return 0;
}

static int leave(void **state)
{
    struct bench *t = *state;
    char command[128];
    rig_fini(&t->rig);
    manifest_fini(&t->m);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void add_timeline(struct bench *t, uint32_t number, uint32_t parent, uint64_t fork,
                         uint64_t start)
{
    const struct manifest_timeline line = {
        .number = number, .parent = parent, .fork = fork, .start = start};
    manifest_add_timeline(&t->m, &line);
}

static void add_segment(struct bench *t, uint64_t number, uint64_t before, uint64_t last)
{
    const struct manifest_segment s = {.timeline = 1,
                                       .number = number,
                                       .before = before,
                                       .last = last,
                                       .last_ms = BASE_MS + 1000,
                                       .bytes = 100};
    manifest_add_segment(&t->m, &s);
}

static struct manifest_base base_at(uint32_t timeline, uint64_t version)
{
    return (struct manifest_base){
        .timeline = timeline, .version = version, .time_ms = BASE_MS, .bytes = 4096, .sum = 1};
}

static void save(struct bench *t)
{
    if (manifest_write(archive, &t->m, &t->e) != OK) fail_msg("%s", t->e.text);
}

/* A timeline, and a base of it that is there; its version. */
static uint64_t make_base(struct bench *t)
{
    struct buf store = {0};
    struct buf path = {0};
    rig_open(&t->rig);
    uint64_t version = rig_set(&t->rig, key_of(0, "a"), slice_str("1"));
    rig_apply(&t->rig);
    rig_close(&t->rig);
    struct manifest_base b = base_at(1, version);
    manifest_base_path(&path, archive, &b);
    assert_int_equal(file_read_all(rig_path(&t->rig, "tupled.db"), &store, 1 << 24, &t->e), OK);
    assert_int_equal(file_write_all((char *)path.data, buf_slice(&store), &t->e), OK);
    assert_int_equal(archive_sum((char *)path.data, NULL, &b.bytes, &b.sum, &t->e), OK);
    add_timeline(t, 1, 0, 0, 0);
    manifest_add_base(&t->m, &b);
    save(t);
    buf_fini(&store);
    buf_fini(&path);
    return version;
}

static void restores(struct bench *t)
{
    if (restore_run(&t->k, &t->e) != OK) fail_msg("%s", t->e.text);
    assert_false(file_exists(part));
}

/* It is refused so, and no timeline was added. */
static void refuses(struct bench *t, enum err wanted, const char *why)
{
    struct manifest after;
    struct error e;
    assert_int_equal(restore_run(&t->k, &t->e), wanted);
    if (strstr(t->e.text, why) == NULL) fail_msg("%s", t->e.text);
    assert_false(file_exists(path_in(to, "tupled.db")));
    assert_int_equal(manifest_read(archive, &after, &e), OK);
    assert_int_equal(after.timeline_count, t->m.timeline_count);
    manifest_fini(&after);
}

/* ---- what is made ---- */

static void a_base_becomes_a_directory_of_its_own(void **state)
{
    struct bench *t = *state;
    struct manifest after;
    uint64_t version = make_base(t);
    restores(t);
    assert_int_equal(t->k.timeline_from, 1);
    assert_int_equal(t->k.timeline_new, 2);
    assert_int_equal(t->k.base_version, version);
    assert_int_equal(t->k.reached, version);
    assert_int_equal(t->k.reached_ms, BASE_MS);
    assert_int_equal(t->k.commits, 0);
    assert_false(t->k.is_short);
    assert_true(t->k.start >= TIMELINE_STEP);
    assert_false(file_exists(path_in(to, RESTORE_FROZEN_FILE)));
    assert_false(file_exists(path_in(to, RESTORE_HELD_FILE)));
    assert_int_equal(manifest_read(archive, &after, &t->e), OK);
    assert_int_equal(after.timeline_count, 2);
    assert_int_equal(after.timelines[1].number, 2);
    assert_int_equal(after.timelines[1].parent, 1);
    assert_int_equal(after.timelines[1].fork, version);
    assert_int_equal(after.timelines[1].start, t->k.start);
    manifest_fini(&after);
    t->rig.local.dir = to;
    rig_open(&t->rig);
    rig_expect(&t->rig, key_of(0, "a"), "1");
    assert_true(rig_set(&t->rig, key_of(0, "b"), slice_str("2")) >= t->k.start);
    rig_close(&t->rig);
}

static void the_next_one_is_another_timeline(void **state)
{
    struct bench *t = *state;
    (void)make_base(t);
    restores(t);
    uint64_t start = t->k.start;
    (void)snprintf(to, sizeof to, "%s/to2", dir);
    (void)snprintf(part, sizeof part, "%s.restoring", to);
    restores(t);
    assert_int_equal(t->k.timeline_from, 1); /* nothing was written to 2 */
    assert_int_equal(t->k.timeline_new, 3);
    assert_int_equal(t->k.start, start + TIMELINE_STEP);
}

static void notes_are_left_for_the_server(void **state)
{
    struct bench *t = *state;
    struct buf text = {0};
    char wanted[64];
    t->k.is_frozen = t->k.holds_queues = true;
    t->k.has_time = true;
    t->k.time_ms = BASE_MS + 7;
    uint64_t version = make_base(t);
    restores(t);
    assert_true(t->k.is_short); /* nothing tells of that moment */
    assert_int_equal(file_read_all(path_in(to, RESTORE_FROZEN_FILE), &text, 1000, &t->e), OK);
    buf_append_byte(&text, '\0');
    (void)snprintf(wanted, sizeof wanted, "%llu %lld\n", (unsigned long long)version,
                   (long long)BASE_MS + 7); /* the moment that was asked for */
    assert_string_equal(text.data, wanted);
    assert_true(file_exists(path_in(to, RESTORE_HELD_FILE)));
    buf_fini(&text);
}

static void what_one_that_was_killed_left_is_removed(void **state)
{
    struct bench *t = *state;
    (void)make_base(t);
    assert_int_equal(dir_make(part, &t->e), OK);
    assert_int_equal(file_write_all(path_in(part, "old"), slice_str("x"), &t->e), OK);
    assert_int_equal(file_write_all(path_in(part, "tupled.db"), slice_str("x"), &t->e), OK);
    assert_int_equal(dir_make(to, &t->e), OK); /* an empty one is taken */
    restores(t);
    assert_false(file_exists(path_in(to, "old")));
    assert_true(file_exists(path_in(to, "tupled.db")));
}

/* ---- what is refused ---- */

static void a_directory_that_has_something_is_refused(void **state)
{
    struct bench *t = *state;
    (void)make_base(t);
    assert_int_equal(dir_make(to, &t->e), OK);
    assert_int_equal(file_write_all(path_in(to, "x"), slice_str(""), &t->e), OK);
    refuses(t, ERR_SYNTAX, "is not empty: a restore needs a new directory");
    assert_false(file_exists(part));
    assert_true(file_exists(path_in(to, "x")));
}

static void what_is_no_archive_is_refused(void **state)
{
    refuses(*state, ERR_SYNTAX, "is not an archive: it has no file `manifest`");
}

static void a_timeline_that_is_not_there_is_refused(void **state)
{
    struct bench *t = *state;
    (void)make_base(t);
    t->k.timeline = 2;
    refuses(t, ERR_SYNTAX, "has no timeline 2");
}

static void a_base_that_is_not_what_it_was_is_refused(void **state)
{
    struct bench *t = *state;
    (void)make_base(t);
    t->m.bases[0].sum ^= 1;
    save(t);
    refuses(t, ERR_CORRUPT, "is damaged: checksum mismatch");
    t->m.bases[0].sum ^= 1;
    t->m.bases[0].bytes++;
    save(t);
    refuses(t, ERR_CORRUPT, "is damaged: checksum mismatch");
    t->m.bases[0].version++; /* then it has another name */
    save(t);
    refuses(t, ERR_CORRUPT, "is missing");
}

static void a_version_outside_of_the_archive_is_refused(void **state)
{
    struct bench *t = *state;
    t->k.has_version = true;
    t->k.version = make_base(t) + 1;
    refuses(t, ERR_SYNTAX, ", before ");
    t->k.version -= 2;
    refuses(t, ERR_SYNTAX, "does not reach back that far");
    t->k.version++;
    restores(t);
}

static void a_moment_before_the_first_base_is_refused(void **state)
{
    struct bench *t = *state;
    (void)make_base(t);
    t->k.has_time = true;
    t->k.time_ms = BASE_MS - 1;
    refuses(t, ERR_SYNTAX, "does not reach back that far; its oldest version is");
    t->k.time_ms = BASE_MS;
    restores(t);
    assert_true(t->k.is_short);
}

static void without_a_base_segments_must_go_back_to_the_first_commit(void **state)
{
    struct bench *t = *state;
    add_timeline(t, 1, 0, 0, 0);
    save(t);
    refuses(t, ERR_SYNTAX, "has no base backup");
    add_segment(t, 2, 10, 20);
    save(t);
    refuses(t, ERR_SYNTAX, "has no base backup");
}

static void a_gap_is_told_with_the_last_version_before_it(void **state)
{
    struct bench *t = *state;
    add_timeline(t, 1, 0, 0, 0);
    add_segment(t, 1, 0, 10);
    add_segment(t, 3, 20, 30);
    save(t);
    refuses(t, ERR_CORRUPT,
            "segment 2 of timeline 1 is missing, but there are later ones; everything up "
            "to version 000000000000000a0000 is available");
}

static void without_a_wish_it_is_the_timeline_that_was_written_to_last(void **state)
{
    struct bench *t = *state;
    struct manifest_base later = base_at(2, TIMELINE_STEP + 1);
    add_timeline(t, 1, 0, 0, 0);
    add_timeline(t, 2, 1, 5, TIMELINE_STEP);
    add_timeline(t, 3, 2, TIMELINE_STEP + 1, 2 * TIMELINE_STEP); /* was only looked at */
    add_segment(t, 1, 0, 10);
    later.time_ms = BASE_MS + 1001;
    manifest_add_base(&t->m, &later);
    save(t);
    refuses(t, ERR_CORRUPT, "is missing"); /* the file of the base */
    assert_int_equal(t->k.timeline_from, 2);
    t->m.bases[0].time_ms = BASE_MS + 1000; /* as new as the segment: that is more */
    save(t);
    assert_int_not_equal(restore_run(&t->k, &t->e), OK);
    assert_int_equal(t->k.timeline_from, 1);
    t->k.has_version = true; /* a version says of which it is */
    t->k.version = TIMELINE_STEP + 1;
    refuses(t, ERR_CORRUPT, "is missing");
    assert_int_equal(t->k.timeline_from, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(a_base_becomes_a_directory_of_its_own),
        T(the_next_one_is_another_timeline),
        T(notes_are_left_for_the_server),
        T(what_one_that_was_killed_left_is_removed),
        T(a_directory_that_has_something_is_refused),
        T(what_is_no_archive_is_refused),
        T(a_timeline_that_is_not_there_is_refused),
        T(a_base_that_is_not_what_it_was_is_refused),
        T(a_version_outside_of_the_archive_is_refused),
        T(a_moment_before_the_first_base_is_refused),
        T(without_a_base_segments_must_go_back_to_the_first_commit),
        T(a_gap_is_told_with_the_last_version_before_it),
        T(without_a_wish_it_is_the_timeline_that_was_written_to_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
