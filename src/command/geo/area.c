/* area: the commands that search an area: GEOSEARCH, GEOSEARCHSTORE, and the older GEORADIUS,
 * GEORADIUSBYMEMBER and their like, which know circles only. */
#include "command/geo/geo_int.h"

static enum err check_search(struct request *rq, void *bound)
{
    const struct geo_search *a = bound;
    struct slice name = rq->argv[0];
    const char *text = NULL;
    bool is_stored = a->to.data != NULL || a->to_distances.data != NULL;
    if (is_stored && (a->with_distance || a->with_hash || a->with_coordinates)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "%s is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
                         a->is_search ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS");
    }
    if (a->is_search && a->member.data == NULL && !a->has_point) {
        text = "exactly one of FROMMEMBER or FROMLONLAT";
    } else if (a->area.unit == 0) {
        text = "exactly one of BYRADIUS and BYBOX";
    }
    if (text != NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "%s can be specified for %.*s", text,
                         (int)name.len, (const char *)name.data);
    }
    if (a->is_any && a->count == 0) {
        return error_set(&rq->error, ERR_SYNTAX, "the ANY argument requires COUNT argument");
    }
    return OK;
}

/* ---- words ---- */

#define POINT_ROWS                                                                                 \
    ARG_OF(struct geo_search, point, struct geo_point, "longitude", geo_kind_longitude),           \
        ARG_OF(struct geo_search, point, struct geo_point, "latitude", geo_kind_latitude)
ARGUMENTS(point_words, struct geo_search, "longitude latitude", POINT_ROWS,
          ARG_FIXED(struct geo_search, has_point, 1));

#define ANSWER_ROWS                                                                                \
    ARG_FLAG(struct geo_search, with_coordinates, "WITHCOORD"),                                    \
        ARG_FLAG(struct geo_search, with_distance, "WITHDIST"),                                    \
        ARG_FLAG(struct geo_search, with_hash, "WITHHASH"),                                        \
        ARG_OF(struct geo_search, count, int64_t, "COUNT", geo_kind_count),                        \
        ARG_FLAG(struct geo_search, is_any, "ANY"),                                                \
        ARG_CHOICE(struct geo_search, order, {"ASC", ORDER_NEAREST}, {"DESC", ORDER_FARTHEST})
/* ANY may be anywhere, as in Redis. */
#define ORDER "[ASC | DESC] [COUNT count] [ANY]"
#define ORDER_SHOWN "[ASC | DESC] [COUNT count [ANY]]"
#define ANSWER "[WITHCOORD] [WITHDIST] [WITHHASH]"

#define SEARCH "[FROMMEMBER member | FROMLONLAT point] [BYRADIUS circle | BYBOX box]"
#define SEARCH_SHOWN                                                                               \
    "<FROMMEMBER member | FROMLONLAT longitude latitude> "                                         \
    "<BYRADIUS radius <" GEO_UNITS "> | BYBOX width height <" GEO_UNITS ">>"
#define SEARCH_ROWS                                                                                \
    ARG_WORD(struct geo_search, member, "FROMMEMBER"), ARG_ALSO("FROMLONLAT", point_words),        \
        ARG_INSIDE(struct geo_search, area, "BYRADIUS", geo_circle_words),                         \
        ARG_INSIDE(struct geo_search, area, "BYBOX", geo_box_words), ANSWER_ROWS,                  \
        ARG_FIXED(struct geo_search, is_search, 1)

ARGUMENTS_WITH(geosearch_arguments, struct geo_search, "key " SEARCH " " ORDER " " ANSWER,
               WITH(.check = check_search, .words_least = 6,
                    .shown = "key " SEARCH_SHOWN " " ORDER_SHOWN " " ANSWER),
               ARG_KEY(struct geo_search, key, "key", 0), SEARCH_ROWS);
/* The words that are not shown have an error of their own. */
ARGUMENTS_WITH(geosearchstore_arguments, struct geo_search,
               "destination source " SEARCH " " ORDER " " ANSWER " [STOREDIST]",
               WITH(.check = check_search, .words_least = 7,
                    .shown = "destination source " SEARCH_SHOWN " " ORDER_SHOWN " [STOREDIST]"),
               ARG_KEY(struct geo_search, to, "destination", KEY_OW | KEY_UPDATE),
               ARG_KEY(struct geo_search, key, "source", KEY_RO | KEY_ACCESS), SEARCH_ROWS,
               ARG_FLAG(struct geo_search, is_by_distance, "STOREDIST"));

#define STORE " [STORE destination | STOREDIST destination]"
#define STORE_ROWS                                                                                 \
    ARG_KEY(struct geo_search, to, "STORE", KEY_OW | KEY_UPDATE),                                  \
        ARG_KEY(struct geo_search, to_distances, "STOREDIST", KEY_OW | KEY_UPDATE)
#define RADIUS_ARGUMENTS(id, from, more, ...)                                                      \
    ARGUMENTS_WITH(id, struct geo_search, "key " from " radius unit " ANSWER " " ORDER more,       \
                   WITH(.check = check_search, .shown = "key " from " radius <" GEO_UNITS          \
                                                        "> " ANSWER " " ORDER_SHOWN more),         \
                   ARG_KEY(struct geo_search, key, "key", KEY_RO | KEY_ACCESS),                    \
                   GEO_CIRCLE(struct geo_search), ANSWER_ROWS, __VA_ARGS__)
RADIUS_ARGUMENTS(georadius_arguments, "longitude latitude", STORE, POINT_ROWS, STORE_ROWS);
RADIUS_ARGUMENTS(georadius_ro_arguments, "longitude latitude", "", POINT_ROWS);
#define MEMBER_ROW ARG_WORD(struct geo_search, member, "member")
RADIUS_ARGUMENTS(georadiusbymember_arguments, "member", STORE, MEMBER_ROW, STORE_ROWS);
RADIUS_ARGUMENTS(georadiusbymember_ro_arguments, "member", "", MEMBER_ROW);

/* ---- commands ---- */

#define REPLY                                                                                      \
    "The members, ordered by distance on request. With `WITHDIST`, `WITHHASH` or `WITHCOORD`, "    \
    "each is an array of the member and its distance, score and `[longitude, latitude]`."

GEO_COMMAND(geosearch, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
            "Returns the members of a geospatial index in a circle or box around a coordinate or "
            "a member.",
            geosearch_arguments, REPLY, geo_search_run);
GEO_COMMAND(geosearchstore, CMD_WRITE, 0,
            "Stores the result of GEOSEARCH in a key and replaces its value. With STOREDIST the "
            "distances are the scores.",
            geosearchstore_arguments, "The number of members stored.", geo_search_or_store_run);
GEO_COMMAND(georadius, CMD_WRITE, 0,
            "Returns the members within a distance from a coordinate, or stores them. GEOSEARCH "
            "replaces it.",
            georadius_arguments,
            REPLY " With `STORE` or `STOREDIST`, the number of members stored.",
            geo_search_or_store_run);
GEO_COMMAND(georadius_ro, CMD_READ | CMD_FOLLOWER, 0,
            "Returns the members within a distance from a coordinate. GEOSEARCH replaces it.",
            georadius_ro_arguments, REPLY, geo_search_run);
GEO_COMMAND(georadiusbymember, CMD_WRITE, 0,
            "Returns the members within a distance from a member, or stores them. GEOSEARCH "
            "replaces it.",
            georadiusbymember_arguments,
            REPLY " With `STORE` or `STOREDIST`, the number of members stored.",
            geo_search_or_store_run);
GEO_COMMAND(georadiusbymember_ro, CMD_READ | CMD_FOLLOWER, 0,
            "Returns the members within a distance from a member. GEOSEARCH replaces it.",
            georadiusbymember_ro_arguments, REPLY, geo_search_run);
