/* geo_int: what the files of the geo commands share. A geo set is a sorted set whose scores are
 * places (codec/geo.h). */
#ifndef COMMAND_GEO_GEO_INT_H
#define COMMAND_GEO_GEO_INT_H

#include "codec/geo.h"
#include "collection/sorted.h"
#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/table.h"

#define GEO_COMMAND(...) TYPE_COMMAND("geo", __VA_ARGS__)

/* ---- words: words.c; errors in Redis's words ---- */

/* A unit, in meters. */
extern const struct argument_kind geo_kind_unit;
#define GEO_UNITS "M | KM | FT | MI" /* how they are shown */
/* Two words become a point. The latitude comes last: then it is known whether it is one. Both rows
 * have the point as their member. */
extern const struct argument_kind geo_kind_longitude, geo_kind_latitude;
/* Longitude and latitude of a point. ERR_SYNTAX. */
ERR_MUST_USE enum err geo_read_point(struct request *rq, struct slice longitude,
                                     struct slice latitude, struct geo_point *out);
/* A struct geo_area without its center. */
extern const struct arguments geo_circle_words, geo_box_words;
#define GEO_CIRCLE(in)                                                                             \
    {ARG_ONE(in, area.radius, double, "radius", geo_kind_radius)},                                 \
    {                                                                                              \
        ARG_ONE(in, area.unit, double, "unit", geo_kind_unit)                                      \
    }
extern const struct argument_kind geo_kind_radius;
/* COUNT: above 0. */
extern const struct argument_kind geo_kind_count;

/* ---- searching: search.c ---- */

/* What the words are bound to, and what comes of it. */
struct geo_search {
    struct slice key;
    struct slice member;    /* the center; data NULL = it is not by a member */
    struct geo_point point; /* likewise, or ... */
    bool has_point;         /* ... this is false */
    struct geo_area area;   /* its unit is 0: there is none */
    int order;              /* enum geo_order */
    int64_t count;          /* at most; 0 = all */
    bool is_any;            /* the first that are found will do */
    bool with_coordinates, with_distance, with_hash;
    struct slice to, to_distances; /* STORE, STOREDIST; data NULL = not there */
    bool is_by_distance;           /* of GEOSEARCHSTORE */
    bool is_search;                /* GEOSEARCH or GEOSEARCHSTORE */
    /* The result, in the arena. */
    struct geo_found *items;
    size_t found;
};

enum geo_order { ORDER_NONE, ORDER_NEAREST, ORDER_FARTHEST };

struct geo_found {
    struct slice member;
    double score, distance; /* in meters */
    struct geo_point at;
    size_t place; /* in the order in which they came */
};

/* Whole commands: the first replies with what is found, the second stores it where STORE or
 * STOREDIST say so, and else does the same. */
ERR_MUST_USE enum err geo_search_run(struct request *rq);
ERR_MUST_USE enum err geo_search_or_store_run(struct request *rq);

/* ---- geo.c ---- */

/* [longitude, latitude] */
void geo_reply_point(struct resp_writer *w, struct geo_point p);
void geo_reply_distance(struct resp_writer *w, double distance);

#endif
