/* rerun: of each reply a hash was kept, and of replies that are times to live the number, which may
 * have become smaller meanwhile. In the other replies the version is put back to the stand-in
 * before they are compared. */
#include "command/script/rerun.h"

#include "base/clock.h"

/* TTLs that were read may be as much smaller as time has passed, and so much more. */
#define TTL_SLACK_MS 1000

/* Does its reply tell how long a key lives? */
static bool tells_ttl(const struct command *c)
{
    static const char *const names[] = {"ttl", "pttl", "kv.ttl", "kv.pttl"};
    for (size_t i = 0; c != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(c->name, names[i]) == 0) return true;
    }
    return false;
}

static int64_t ttl_of(const struct buf *reply)
{
    int64_t n = 0;
    if (reply->len < 4 || reply->data[0] != ':') return INT64_MIN;
    return slice_to_i64(slice_of(reply->data + 1, reply->len - 3), &n) ? n : INT64_MIN;
}

void again_note(struct called *done, const struct buf *reply)
{
    done->reply = hash_bytes(buf_slice(reply));
    done->ttl = tells_ttl(done->command) ? ttl_of(reply) : 0;
}

void again_restamp(uint8_t *text, size_t len, uint64_t from, uint64_t to)
{
    char old[STAMP_CHARS];
    char new[STAMP_CHARS];
    uint8_t *at = text;
    const uint8_t *end = text + len;
    stamp_format(from, old);
    stamp_format(to, new);
    while ((at = memmem(at, (size_t)(end - at), old, STAMP_CHARS)) != NULL) {
        memcpy(at, new, STAMP_CHARS);
        at += STAMP_CHARS;
    }
}

/* Has the command, run again, the reply that the script saw? */
static bool is_same(const struct again_run *had, const struct called *was, uint64_t version)
{
    unsigned flags = was->command != NULL ? was->command->flags : CMD_READ;
    bool is_about_data = (flags & (CMD_READ | CMD_WRITE | CMD_KEYSPACE)) != 0;
    if (!is_about_data || (was->command != NULL && strcmp(was->command->name, "randomkey") == 0)) {
        return true;
    }
    if (was->command != NULL && tells_ttl(was->command) && was->ttl >= 0) {
        int64_t now = ttl_of(had->reply);
        bool is_ms = strstr(was->command->name, "pttl") != NULL;
        int64_t passed_ms = (clock_mono_us() - had->began_us) / 1000 + TTL_SLACK_MS;
        return now >= 0 && now <= was->ttl &&
               was->ttl - now <= (is_ms ? passed_ms : passed_ms / 1000 + 1);
    }
    again_restamp(had->reply->data, had->reply->len, version, had->stand_in);
    return was->reply == hash_bytes(buf_slice(had->reply));
}

enum err again_run(struct calling *again, const struct again_run *had, bool *holds)
{
    struct arena *arena = again->arena;
    uint64_t version = engine_overlay_version(again->overlay);
    *holds = true;
    for (const struct called *was = had->first; was != NULL && *holds; was = was->next) {
        struct slice *argv = arena_alloc(arena, was->argc * sizeof *argv);
        for (size_t i = 0; i < was->argc; i++) {
            uint8_t *copy = arena_alloc(arena, was->argv[i].len);
            if (was->argv[i].len > 0) memcpy(copy, was->argv[i].data, was->argv[i].len);
            again_restamp(copy, was->argv[i].len, had->stand_in, version);
            argv[i] = slice_of(copy, was->argv[i].len);
        }
        enum err r = calling_run(again, argv, was->argc, was->proto, had->reply);
        if (r != OK) return r;
        *holds = is_same(had, was, version);
    }
    return OK;
}
