/* words: units, points, circles and boxes of the geo commands as words. */
#include <string.h>

#include "codec/float_text.h"
#include "command/geo/geo_int.h"

static enum err read_number(struct request *rq, struct slice word, const char *wrong, double *out)
{
    if (float_text_read(word, out)) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "%s", wrong);
}

static enum err read_unit(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    static const struct {
        const char *name;
        double meters;
    } units[] = {{"M", 1}, {"KM", 1000}, {"FT", 0.3048}, {"MI", 1609.34}};
    (void)a;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!slice_is_word(word, units[i].name)) continue;
        memcpy(to, &units[i].meters, sizeof units[i].meters);
        return OK;
    }
    return error_set(&rq->error, ERR_SYNTAX, "unsupported unit provided. please use M, KM, FT, MI");
}
const struct argument_kind geo_kind_unit = {.read = read_unit};

/* ---- points ---- */

#define NO_FLOAT "value is not a valid float"

static enum err read_longitude(struct request *rq, const struct argument *a, struct slice word,
                               void *to)
{
    struct geo_point *p = to;
    (void)a;
    return read_number(rq, word, NO_FLOAT, &p->longitude);
}
const struct argument_kind geo_kind_longitude = {.read = read_longitude};

static enum err read_latitude(struct request *rq, const struct argument *a, struct slice word,
                              void *to)
{
    struct geo_point *p = to;
    (void)a;
    enum err r = read_number(rq, word, NO_FLOAT, &p->latitude);
    if (r != OK || geo_is_point(*p)) return r;
    return error_set(&rq->error, ERR_SYNTAX, "invalid longitude,latitude pair %f,%f", p->longitude,
                     p->latitude);
}
const struct argument_kind geo_kind_latitude = {.read = read_latitude};

enum err geo_read_point(struct request *rq, struct slice longitude, struct slice latitude,
                        struct geo_point *out)
{
    enum err r = read_longitude(rq, NULL, longitude, out);
    return r == OK ? read_latitude(rq, NULL, latitude, out) : r;
}

/* ---- areas ---- */

static enum err read_radius(struct request *rq, const struct argument *a, struct slice word,
                            void *to)
{
    double radius = 0;
    (void)a;
    enum err r = read_number(rq, word, "need numeric radius", &radius);
    if (r != OK) return r;
    if (radius < 0) return error_set(&rq->error, ERR_SYNTAX, "radius cannot be negative");
    memcpy(to, &radius, sizeof radius);
    return OK;
}
const struct argument_kind geo_kind_radius = {.read = read_radius};

static enum err read_width(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    struct geo_area *area = to;
    (void)a;
    return read_number(rq, word, "need numeric width", &area->width);
}
static const struct argument_kind kind_width = {.read = read_width};

/* Neither is looked at before both are numbers. */
static enum err read_height(struct request *rq, const struct argument *a, struct slice word,
                            void *to)
{
    struct geo_area *area = to;
    (void)a;
    enum err r = read_number(rq, word, "need numeric height", &area->height);
    if (r != OK || (area->width >= 0 && area->height >= 0)) return r;
    return error_set(&rq->error, ERR_SYNTAX, "height or width cannot be negative");
}
static const struct argument_kind kind_height = {.read = read_height};

struct area_words {
    struct geo_area area;
};
SHARED_ARGUMENTS(geo_circle_words, struct area_words, "radius unit", GEO_CIRCLE(struct area_words));
SHARED_ARGUMENTS(geo_box_words, struct area_words, "width height unit",
                 ARG_OF(struct area_words, area, struct geo_area, "width", kind_width),
                 ARG_OF(struct area_words, area, struct geo_area, "height", kind_height),
                 ARG_OF(struct area_words, area.unit, double, "unit", geo_kind_unit),
                 ARG_FIXED(struct area_words, area.is_box, 1));

static enum err read_count(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    int64_t count = 0;
    (void)a;
    if (!slice_to_i64(word, &count)) return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER);
    if (count <= 0) return error_set(&rq->error, ERR_SYNTAX, "COUNT must be > 0");
    memcpy(to, &count, sizeof count);
    return OK;
}
const struct argument_kind geo_kind_count = {.read = read_count, .type = WORD_INTEGER};
