/* geo: see geo.h. */
#include "codec/geo.h"

#include <math.h>

#define STEPS_MAX 26                /* bits of each coordinate */
#define EARTH_RADIUS 6372797.560856 /* meters */
#define MERCATOR_HALF 20037726.37   /* meters from the middle of the map to its edge */
#define RADIANS (3.14159265358979323846 / 180.0)
#define DEGREES_DIGITS 17
#define DEGREES_FACTOR 100000000000000000u /* 10^17 */

/* A step of each coordinate on a grid of 2^steps of them. A coordinate at its upper bound has the
 * number 2^steps, one beyond the last: it is a cell of its own, beside no other. */
struct cell {
    uint32_t x, y; /* longitude, latitude */
    int steps;
};

struct bounds {
    struct geo_point min, max;
};

/* ---- bits ---- */

/* With a 0 before each bit. By halves, as in Anderson's Bit Twiddling Hacks. */
static uint64_t spread(uint32_t bits)
{
    uint64_t x = bits;
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    x = (x | x << 2) & UINT64_C(0x3333333333333333);
    return (x | x << 1) & UINT64_C(0x5555555555555555);
}

/* Every second bit, from the lowest on. */
static uint32_t gather(uint64_t x)
{
    x &= UINT64_C(0x5555555555555555);
    x = (x | x >> 1) & UINT64_C(0x3333333333333333);
    x = (x | x >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(x | x >> 16);
}

static uint64_t cell_bits(struct cell c)
{
    return spread(c.y) | spread(c.x) << 1;
}

/* ---- cells ---- */

static uint32_t step_of(double degrees, double max, int steps)
{
    return (uint32_t)((degrees + max) / (2 * max) * (double)(UINT64_C(1) << steps));
}

static struct cell cell_of(struct geo_point p, int steps)
{
    return (struct cell){.x = step_of(p.longitude, GEO_LONGITUDE_MAX, steps),
                         .y = step_of(p.latitude, GEO_LATITUDE_MAX, steps),
                         .steps = steps};
}

static double degrees_of(uint32_t step, double max, int steps)
{
    return -max + (double)step / (double)(UINT64_C(1) << steps) * (2 * max);
}

static struct bounds cell_bounds(struct cell c)
{
    return (struct bounds){.min = {.longitude = degrees_of(c.x, GEO_LONGITUDE_MAX, c.steps),
                                   .latitude = degrees_of(c.y, GEO_LATITUDE_MAX, c.steps)},
                           .max = {.longitude = degrees_of(c.x + 1, GEO_LONGITUDE_MAX, c.steps),
                                   .latitude = degrees_of(c.y + 1, GEO_LATITUDE_MAX, c.steps)}};
}

/* The one so many steps away, around the map where that ends. */
static struct cell cell_beside(struct cell c, int east, int north)
{
    uint32_t mask = (1u << c.steps) - 1;
    if (east != 0) c.x = (c.x + (uint32_t)east) & mask;
    if (north != 0) c.y = (c.y + (uint32_t)north) & mask;
    return c;
}

static struct geo_range cell_range(struct cell c)
{
    int shift = 2 * (STEPS_MAX - c.steps);
    uint64_t bits = cell_bits(c);
    return (struct geo_range){.min = (double)(bits << shift), .max = (double)((bits + 1) << shift)};
}

/* ---- points ---- */

bool geo_is_point(struct geo_point p)
{
    return p.longitude >= -GEO_LONGITUDE_MAX && p.longitude <= GEO_LONGITUDE_MAX &&
           p.latitude >= -GEO_LATITUDE_MAX && p.latitude <= GEO_LATITUDE_MAX;
}

double geo_score(struct geo_point p)
{
    uint64_t bits = cell_bits(cell_of(p, STEPS_MAX));
    return (double)bits;
}

/* The bits of any score: as a processor of Redis converts it, where C leaves that open. */
static uint64_t score_bits(double score)
{
    const double half = 9223372036854775808.0; /* 2^63 */
    if (score >= 2 * half) return 0;
    if (score >= half) return (uint64_t)score;
    return score >= -half ? (uint64_t)(int64_t)score : UINT64_C(1) << 63;
}

static double middle(double min, double max, double most)
{
    double x = (min + max) / 2;
    if (x > most) return most;
    return x < -most ? -most : x;
}

struct geo_point geo_point_of(double score)
{
    uint64_t bits = score_bits(score);
    struct bounds b = cell_bounds(
        (struct cell){.x = gather(bits >> 1), .y = gather(bits), .steps = STEPS_MAX});
    return (struct geo_point){
        .longitude = middle(b.min.longitude, b.max.longitude, GEO_LONGITUDE_MAX),
        .latitude = middle(b.min.latitude, b.max.latitude, GEO_LATITUDE_MAX)};
}

void geo_hash(struct geo_point p, char out[GEO_HASH_BYTES])
{
    static const char letters[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    struct cell c = {.x = step_of(p.longitude, GEO_LONGITUDE_MAX, STEPS_MAX),
                     .y = step_of(p.latitude, 90, STEPS_MAX),
                     .steps = STEPS_MAX};
    uint64_t bits = cell_bits(c);
    for (int i = 0; i < GEO_HASH_BYTES - 1; i++) {
        out[i] = letters[bits >> (2 * STEPS_MAX - 5 * (i + 1)) & 31];
    }
    out[GEO_HASH_BYTES - 1] = letters[0];
}

/* ---- distances ---- */

static double in_radians(double degrees)
{
    return degrees * RADIANS;
}

static double in_degrees(double angle)
{
    return angle / RADIANS;
}

/* Of two points on one meridian. */
static double latitude_distance(double a, double b)
{
    return EARTH_RADIUS * fabs(in_radians(b) - in_radians(a));
}

double geo_distance(struct geo_point a, struct geo_point b)
{
    double v = sin((in_radians(b.longitude) - in_radians(a.longitude)) / 2);
    if (v == 0) return latitude_distance(a.latitude, b.latitude);
    double from = in_radians(a.latitude);
    double to = in_radians(b.latitude);
    double u = sin((to - from) / 2);
    double x = u * u + cos(from) * cos(to) * v * v;
    if (x > 1) x = 1; /* rounding alone could do that, and the distance would be no number */
    return 2.0 * EARTH_RADIUS * asin(sqrt(x));
}

/* ---- areas ---- */

bool geo_area_has(const struct geo_area *a, struct geo_point p, double *distance)
{
    if (a->is_box) {
        struct geo_point beside = {.longitude = a->center.longitude, .latitude = p.latitude};
        double up = latitude_distance(p.latitude, a->center.latitude);
        if (up > a->height * a->unit / 2) return false;
        if (geo_distance(p, beside) > a->width * a->unit / 2) return false;
    }
    *distance = geo_distance(a->center, p);
    return a->is_box || *distance <= a->radius * a->unit;
}

/* About the degrees that it covers; a little less where the earth is wider than at its center. What
 * is no number, near a pole, bounds nothing. */
static struct bounds area_bounds(const struct geo_area *a)
{
    struct geo_point c = a->center;
    double height = a->unit * (a->is_box ? a->height / 2 : a->radius);
    double width = a->unit * (a->is_box ? a->width / 2 : a->radius);
    double up = in_degrees(height / EARTH_RADIUS);
    double farther = c.latitude < 0 ? c.latitude - up : c.latitude + up; /* from the equator */
    double aside = in_degrees(width / EARTH_RADIUS / cos(in_radians(farther)));
    return (struct bounds){.min = {c.longitude - aside, c.latitude - up},
                           .max = {c.longitude + aside, c.latitude + up}};
}

/* On a grid of so many steps a cell is about as large as the area; towards the poles, where cells
 * are narrower, some times as large. */
static int area_steps(const struct geo_area *a)
{
    double half_width = a->width / 2;
    double half_height = a->height / 2;
    double meters = a->is_box ? sqrt(half_width * half_width + half_height * half_height)
                              : a->radius;
    double latitude = fabs(a->center.latitude);
    int steps = -1;
    meters *= a->unit;
    if (meters == 0) return STEPS_MAX;
    while (meters < MERCATOR_HALF) {
        meters *= 2;
        steps++;
    }
    if (latitude > 66) steps--;
    if (latitude > 80) steps--;
    if (steps < 1) return 1;
    return steps < STEPS_MAX ? steps : STEPS_MAX;
}

/* Do the cells beside this one reach over the bounds? Those beyond an edge of the map do not. */
static bool is_covered(struct cell c, const struct bounds *b)
{
    return !(cell_bounds(cell_beside(c, 0, 1)).max.latitude < b->max.latitude ||
             cell_bounds(cell_beside(c, 0, -1)).min.latitude > b->min.latitude ||
             cell_bounds(cell_beside(c, 1, 0)).max.longitude < b->max.longitude ||
             cell_bounds(cell_beside(c, -1, 0)).min.longitude > b->min.longitude);
}

/* Has the area nothing on that side of the cell? */
static bool is_beyond(const struct bounds *cell, const struct bounds *area, int east, int north)
{
    return (north < 0 && cell->min.latitude < area->min.latitude) ||
           (north > 0 && cell->max.latitude > area->max.latitude) ||
           (east < 0 && cell->min.longitude < area->min.longitude) ||
           (east > 0 && cell->max.longitude > area->max.longitude);
}

size_t geo_area_ranges(const struct geo_area *a, struct geo_range out[GEO_RANGES_MAX])
{
    static const struct {
        int east, north;
    } sides[GEO_RANGES_MAX] = {{0, 0}, {0, 1},  {0, -1}, {1, 0},  {-1, 0},
                               {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    struct bounds area = area_bounds(a);
    struct cell c = cell_of(a->center, area_steps(a));
    if (c.steps > 1 && !is_covered(c, &area)) c = cell_of(a->center, c.steps - 1);
    struct bounds cell = cell_bounds(c);
    size_t count = 0;
    for (size_t i = 0; i < GEO_RANGES_MAX; i++) {
        int east = sides[i].east;
        int north = sides[i].north;
        if (c.steps > 1 && is_beyond(&cell, &area, east, north)) continue;
        struct geo_range range = cell_range(cell_beside(c, east, north));
        /* Of four cells, that to the east is that to the west, too. */
        if (count > 1 && range.min == out[count - 1].min) continue;
        out[count++] = range;
    }
    return count;
}

/* ---- texts ---- */

/* The whole, a point, and so many digits of the parts. */
static size_t write_decimal(uint64_t whole, uint64_t parts, size_t digits, char *out)
{
    char text[20];
    size_t count = 0;
    do {
        text[count++] = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0);
    for (size_t i = 0; i < count; i++) out[i] = text[count - 1 - i];
    out[count] = '.';
    for (size_t i = digits; i > 0; i--) {
        out[count + i] = (char)('0' + parts % 10);
        parts /= 10;
    }
    return count + 1 + digits;
}

size_t geo_distance_write(double distance, char out[GEO_TEXT_BYTES])
{
    uint64_t parts = (uint64_t)llrint(distance * 1e4);
    return write_decimal(parts / 10000, parts % 10000, 4, out);
}

/* x * 10^17, of an x below 1, to the nearest; of two equally near the even one. It is exact: x is a
 * whole number of 53 bits by a power of two. What is below 1 by 2^-53 or more stays below 10^17. */
static uint64_t parts_of(double x)
{
    int exponent = 0;
    double mantissa = ldexp(frexp(x, &exponent), 53);
    int shift = 53 - exponent;
    if (x == 0 || shift > 120) return 0; /* less than 10^-20 */
    unsigned __int128 all = (unsigned __int128)(uint64_t)mantissa * DEGREES_FACTOR;
    unsigned __int128 one = (unsigned __int128)1 << shift;
    unsigned __int128 rest = all & (one - 1);
    uint64_t n = (uint64_t)(all >> shift);
    bool is_up = rest > one / 2 || (rest == one / 2 && (n & 1) != 0);
    return is_up ? n + 1 : n;
}

size_t geo_degrees_write(double degrees, char out[GEO_TEXT_BYTES])
{
    double size = fabs(degrees);
    double below = floor(size);
    uint64_t whole = (uint64_t)below;
    uint64_t parts = parts_of(size - below);
    size_t sign = degrees < 0 && (whole > 0 || parts > 0);
    if (sign != 0) out[0] = '-';
    size_t len = sign + write_decimal(whole, parts, DEGREES_DIGITS, out + sign);
    while (out[len - 1] == '0') len--;
    return out[len - 1] == '.' ? len - 1 : len;
}
