/* structured: values that a program packs and unpacks with msgpack-c, in place of JSON text: readings
 * of sensors, each a map with a text, a number and bytes.
 *
 *   cc structured.c $(pkg-config --cflags --libs libtupled msgpack) && ./a.out /tmp/some-directory
 */
#include <msgpack.h>
#include <stdio.h>
#include <tupled_db.h>

static int fail(const char *what, const struct tupled_error *e)
{
    fprintf(stderr, "%s: %s %s\n", what, e->code, e->text);
    return 1;
}

static void pack_text(msgpack_packer *p, const char *text)
{
    msgpack_pack_str_with_body(p, text, strlen(text));
}

/* {"sensor": .., "celsius": .., "raw": ..} */
static int store(struct tupled_db *db, int id, const char *sensor, double celsius)
{
    char key[32];
    const char raw[] = {0, 1, (char)id};
    struct tupled_error e;
    msgpack_sbuffer value;
    msgpack_packer p;
    msgpack_sbuffer_init(&value);
    msgpack_packer_init(&p, &value, msgpack_sbuffer_write);
    msgpack_pack_map(&p, 3);
    pack_text(&p, "sensor");
    pack_text(&p, sensor);
    pack_text(&p, "celsius");
    msgpack_pack_double(&p, celsius);
    pack_text(&p, "raw");
    msgpack_pack_bin_with_body(&p, raw, sizeof raw);

    snprintf(key, sizeof key, "[\"readings\",%d]", id);
    struct tupled_bytes bytes = {.data = (const unsigned char *)value.data, .len = value.size};
    int outcome = tupled_set(db, tupled_text(key), bytes, NULL, NULL, &e);
    msgpack_sbuffer_destroy(&value);
    return outcome < 0 ? fail("set", &e) : 0;
}

/* What the database gives out has been checked when it came in: msgpack-c may trust its lengths. */
static void show(const struct tupled_entry *entry)
{
    msgpack_unpacked u;
    msgpack_unpacked_init(&u);
    const char *data = (const char *)entry->value.data;
    if (msgpack_unpack_next(&u, data, entry->value.len, NULL) == MSGPACK_UNPACK_SUCCESS) {
        msgpack_object_print(stdout, u.data);
        printf("\n");
    }
    msgpack_unpacked_destroy(&u);
}

int main(int argc, char **argv)
{
    struct tupled_db *db = NULL;
    struct tupled_error e;
    struct tupled_options options;
    if (argc != 2) return fprintf(stderr, "usage: structured <directory>\n"), 1;
    tupled_options_init(&options);
    options.format = TUPLED_MSGPACK;
    if (tupled_open(argv[1], &options, &db, &e) < 0) return fail("open", &e);
    int status = store(db, 1, "roof", 21.5);
    if (status == 0) status = store(db, 2, "cellar", -3.25);

    struct tupled_range all = {.prefix = tupled_text("[\"readings\"]"), .limit = 10};
    struct tupled_page *page = NULL;
    if (status == 0 && tupled_list(db, &all, &page, &e) < 0) status = fail("list", &e);
    for (size_t i = 0; page != NULL && i < page->count; i++) show(&page->entries[i]);
    tupled_free(page);
    if (tupled_close(db, &e) < 0) return fail("close", &e);
    return status;
}
