/* geo: places on the earth as scores of a sorted set, and areas as ranges of such scores: what the
 * commands GEOADD, GEOSEARCH and their like calculate. Scores, distances and the choice of ranges
 * are those of Redis 7, so that data can be moved from and to a Redis and searches find the same.
 * Pure functions.
 *
 * Longitude and latitude are each cut into 2^26 equal steps, from -180 to 180 degrees and between
 * the bounds of the Mercator projection. The bits of both numbers in turn, that of the longitude
 * first, are the score, 52 bits:
 *
 *   longitude   1 0 1 ...  ->   1 0 0 1 1 1 ...   its first 2n bits: which of 4^n cells it is in
 *   latitude     0 1 1 ...
 *
 * So all places of a cell have scores in one range. An area is searched in the smallest cell around
 * its center that is not smaller than it, and in the eight cells beside that one.
 *
 * The cells are Gustavo Niemeyer's geohash (2008) with other bounds of the latitude, as Redis has
 * them (geohash.c, geohash_helper.c, geo.c, after ardb); distances are of the haversine formula on
 * a sphere. Numbers are calculated in Redis's order, as their last bit decides what is found.
 */
#ifndef CODEC_GEO_H
#define CODEC_GEO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEO_LONGITUDE_MAX 180.0
#define GEO_LATITUDE_MAX 85.05112878 /* where the map of Mercator is a square */

/* Degrees. */
struct geo_point {
    double longitude, latitude;
};

/* Is it within the bounds? Only such points have scores. */
bool geo_is_point(struct geo_point p);
double geo_score(struct geo_point p);
/* The middle of the cell; of a score that is none of a place, some point within the bounds, the
 * same as in Redis. */
struct geo_point geo_point_of(double score);
/* Meters. */
double geo_distance(struct geo_point a, struct geo_point b);

/* The usual geohash of the point, not ended. The last letter is always 0, for 52 bits are ten
 * letters. */
#define GEO_HASH_BYTES 11
void geo_hash(struct geo_point p, char out[GEO_HASH_BYTES]);

/* Places around a center: in a circle, or in a box that is as wide at every latitude. */
struct geo_area {
    struct geo_point center;
    bool is_box;
    double radius;        /* of a circle; in units, as are these: */
    double width, height; /* of a box */
    double unit;          /* meters */
};
/* Is the point in it? *distance: meters from the center, if it is. */
bool geo_area_has(const struct geo_area *a, struct geo_point p, double *distance);

/* Scores from min up to max, which is not in it. */
struct geo_range {
    double min, max;
};
/* The ranges that it is searched in, in Redis's order. No score is in two of them. */
#define GEO_RANGES_MAX 9
size_t geo_area_ranges(const struct geo_area *a, struct geo_range out[GEO_RANGES_MAX]);

/* As Redis tells them; bytes written to `out`, not ended. A distance: 4 digits after the point.
 * Degrees: 17, without the zeros at the end; up to 360 of them. */
#define GEO_TEXT_BYTES 32
size_t geo_distance_write(double distance, char out[GEO_TEXT_BYTES]);
size_t geo_degrees_write(double degrees, char out[GEO_TEXT_BYTES]);

#endif
