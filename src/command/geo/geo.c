/* geo: the commands on members of a geo set: adding, where they are, how far from one another. */
#include "command/geo/geo_int.h"

/* ---- replies ---- */

static void reply_degrees(struct resp_writer *w, double degrees)
{
    char text[GEO_TEXT_BYTES];
    size_t len = geo_degrees_write(degrees, text);
    if (w->proto == 2) {
        resp_bulk(w, slice_of(text, len));
        return;
    }
    buf_append_byte(w->out, ',');
    buf_append(w->out, text, len);
    buf_append(w->out, "\r\n", 2);
}

void geo_reply_point(struct resp_writer *w, struct geo_point p)
{
    resp_array(w, 2);
    reply_degrees(w, p.longitude);
    reply_degrees(w, p.latitude);
}

void geo_reply_distance(struct resp_writer *w, double distance)
{
    char text[GEO_TEXT_BYTES];
    resp_bulk(w, slice_of(text, geo_distance_write(distance, text)));
}

/* ---- GEOADD ---- */

struct geo_item {
    struct slice longitude, latitude, member;
    double score;
};
struct geoadd {
    struct slice key;
    int how; /* 0, or one of these: */
    bool counts_changed;
    struct {
        struct geo_item *items;
        size_t count;
    } list;
    int64_t added, changed;
};
enum { ONLY_NEW = 1, ONLY_THERE };

/* The options are right, and the words are as many as they must be; then the points are looked at,
 * as in Redis. */
static enum err check_geoadd(struct request *rq, void *bound)
{
    struct geoadd *a = bound;
    enum err r = OK;
    for (size_t i = 0; i < a->list.count && r == OK; i++) {
        struct geo_item *x = &a->list.items[i];
        struct geo_point p = {0};
        r = geo_read_point(rq, x->longitude, x->latitude, &p);
        if (r == OK) x->score = geo_score(p);
    }
    return r;
}

#define NEXT_WORD(member)                                                                          \
    {                                                                                              \
        ARG_ONE(struct geo_item, member, struct slice, #member, arg_kind_word),                    \
            .missing = "syntax error"                                                              \
    }
ARGUMENTS(item_words, struct geo_item, "longitude latitude member", NEXT_WORD(longitude),
          NEXT_WORD(latitude), NEXT_WORD(member));
ARGUMENTS_WITH(geoadd_arguments, struct geoadd, "key [NX | XX] [CH] item [item ...]",
               WITH(.check = check_geoadd), ARG_KEY(struct geoadd, key, "key", 0),
               ARG_CHOICE(struct geoadd, how, {"NX", ONLY_NEW}, {"XX", ONLY_THERE}),
               ARG_FLAG(struct geoadd, counts_changed, "CH"),
               ARG_LIST(struct geoadd, list, "item", item_words, NULL));

static enum err add_one(struct request *rq, struct geoadd *a, struct collection *c,
                        const struct geo_item *item)
{
    struct element there = {.score = 0};
    struct element x = {.name = item->member, .score = item->score};
    bool found = false;
    enum err r = collection_find(c, item->member, &found, &there, &rq->error);
    if (r != OK || a->how == (found ? ONLY_NEW : ONLY_THERE)) return r;
    if (found && there.score == x.score) return OK;
    *(found ? &a->changed : &a->added) += 1;
    return collection_put(c, &x, &found, NULL, &rq->error);
}

static enum err geoadd_change(struct request *rq, struct view *v, void *arg)
{
    struct geoadd *a = arg;
    struct collection c;
    a->added = a->changed = 0;
    enum err r = collection_open(rq->env->db->collections, v, a->key, COLLECTION_ZSET, &c,
                                 &rq->error);
    for (size_t i = 0; i < a->list.count && r == OK; i++) {
        r = add_one(rq, a, &c, &a->list.items[i]);
    }
    return r == OK ? elements_save_as(rq, &c, "zadd") : r;
}

static enum err geoadd_run(struct request *rq)
{
    struct geoadd *a = rq->bound;
    enum err r = elements_commit(rq, geoadd_change, a);
    if (r == OK) resp_int(rq->w, a->added + (a->counts_changed ? a->changed : 0));
    return r;
}
GEO_COMMAND(geoadd, CMD_WRITE, KEY_RW | KEY_UPDATE,
            "Adds members with coordinates to a geospatial index, or moves them.", geoadd_arguments,
            "The number of new members, with `CH` of new and moved ones.", geoadd_run);

/* ---- GEOPOS, GEOHASH ---- */

struct key_members {
    struct slice key;
    struct slices members;
};
ARGUMENTS(members_arguments, struct key_members, "key [member ...]",
          ARG_KEY(struct key_members, key, "key", 0),
          ARG_WORDS(struct key_members, members, "member"));

static void tell_point(struct resp_writer *w, const struct element *x)
{
    if (x != NULL) {
        geo_reply_point(w, geo_point_of(x->score));
    } else {
        resp_nil_array(w);
    }
}

static enum err geopos_run(struct request *rq)
{
    const struct key_members *a = rq->bound;
    return elements_tell_each(rq, COLLECTION_ZSET, a->key, &a->members, tell_point);
}
GEO_COMMAND(geopos, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the longitude and latitude of members of a geospatial index.",
            members_arguments, "`[longitude, latitude]` for each member, or nil.", geopos_run);

static void tell_hash(struct resp_writer *w, const struct element *x)
{
    char text[GEO_HASH_BYTES];
    if (x != NULL) {
        geo_hash(geo_point_of(x->score), text);
        resp_bulk(w, slice_of(text, sizeof text));
    } else {
        resp_nil(w);
    }
}

static enum err geohash_run(struct request *rq)
{
    const struct key_members *a = rq->bound;
    return elements_tell_each(rq, COLLECTION_ZSET, a->key, &a->members, tell_hash);
}
GEO_COMMAND(geohash, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns members of a geospatial index as geohash strings.", members_arguments,
            "A string of 11 characters for each member, or nil.", geohash_run);

/* ---- GEODIST ---- */

struct geodist {
    struct slice key, member1, member2;
    double unit; /* 0 = not given */
};
ARGUMENTS_WITH(geodist_arguments, struct geodist, "key member1 member2 [unit]",
               WITH(.shown = "key member1 member2 [" GEO_UNITS "]"),
               ARG_KEY(struct geodist, key, "key", 0), ARG_WORD(struct geodist, member1, "member1"),
               ARG_WORD(struct geodist, member2, "member2"),
               ARG_OF(struct geodist, unit, double, "unit", geo_kind_unit));

static enum err geodist_run(struct request *rq)
{
    const struct geodist *a = rq->bound;
    struct collection c;
    struct view *v = elements_view(rq);
    struct element one = {.score = 0};
    struct element other = {.score = 0};
    bool found = false;
    enum err r = elements_open(rq, v, a->key, COLLECTION_ZSET, &c);
    if (r == OK) r = collection_find(&c, a->member1, &found, &one, &rq->error);
    if (r == OK && found) r = collection_find(&c, a->member2, &found, &other, &rq->error);
    elements_read(rq, v);
    if (r != OK) return r;
    if (found) {
        double meters = geo_distance(geo_point_of(one.score), geo_point_of(other.score));
        geo_reply_distance(rq->w, meters / (a->unit > 0 ? a->unit : 1));
    } else {
        resp_nil(rq->w);
    }
    return OK;
}
GEO_COMMAND(geodist, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the distance between two members of a geospatial index, in meters or in the "
            "given unit.",
            geodist_arguments, "The distance, or nil if one of them does not exist.", geodist_run);
