/* Tests of places: scores, points, distances and geohashes that a real Redis 7 gave, geohashes of
 * the literature; areas by what they must find; texts beside printf.
 */
#include "codec_test.h"

#include <math.h>
#include <string.h>

#include "codec/geo.h"

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define LAST_SCORE 4503599627370496.0 /* 2^52: one more than that of any place off the bounds */

static const struct geo_point palermo = {13.361389, 38.115556};
static const struct geo_point catania = {15.087269, 37.502669};

static void expect_point(struct geo_point p, double longitude, double latitude)
{
    if (p.longitude == longitude && p.latitude == latitude) return;
    fail_msg("%.17g,%.17g", p.longitude, p.latitude);
}

static void expect_hash(const char *expected, struct geo_point p)
{
    char text[GEO_HASH_BYTES + 1] = "";
    geo_hash(p, text);
    assert_string_equal(text, expected);
}

static double random_between(double min, double max)
{
    return min + (double)(random_u64() >> 11) / 9007199254740992.0 * (max - min);
}

static struct geo_point random_point(void)
{
    double longitude = random_between(-GEO_LONGITUDE_MAX, GEO_LONGITUDE_MAX);
    return (struct geo_point){longitude, random_between(-GEO_LATITUDE_MAX, GEO_LATITUDE_MAX)};
}

/* ---- scores ---- */

static void a_place_has_the_score_that_it_has_in_redis(void **state)
{
    static const struct {
        struct geo_point p;
        double score;
    } places[] = {{{13.361389, 38.115556}, 3479099956230698},
                  {{15.087269, 37.502669}, 3479447370796909},
                  {{-180, -85.05112878}, 0},
                  {{180, 85.05112878}, 13510798882111488.0},
                  {{180, 1.5}, 10133378335851536.0},
                  {{0, 0}, 3377699720527872}};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        assert_true(geo_score(places[i].p) == places[i].score);
    }
}

static void a_score_is_the_middle_of_a_cell(void **state)
{
    expect_point(geo_point_of(geo_score(palermo)), 13.361389338970184, 38.115556395496299);
    expect_point(geo_point_of(geo_score(catania)), 15.087267458438873, 37.50266842333162);
    expect_point(geo_point_of(0), -179.99999731779099, -85.051127512639425);
    for (int i = 0; i < 10000; i++) {
        struct geo_point p = random_point();
        double score = geo_score(p);
        struct geo_point q = geo_point_of(score);
        assert_true(score >= 0 && score < LAST_SCORE && score == floor(score));
        assert_true(geo_score(q) == score);
        assert_true(fabs(q.longitude - p.longitude) <= 180.0 / (1 << 26));
        assert_true(fabs(q.latitude - p.latitude) <= 90.0 / (1 << 26));
    }
}

static void points_at_the_bounds_stay_there(void **state)
{
    struct geo_point corner = {GEO_LONGITUDE_MAX, GEO_LATITUDE_MAX};
    expect_point(geo_point_of(geo_score(corner)), 180, GEO_LATITUDE_MAX);
    expect_point(geo_point_of(geo_score((struct geo_point){180, 1.5})), 180, 1.499998555034189);
    corner = (struct geo_point){-GEO_LONGITUDE_MAX, -GEO_LATITUDE_MAX};
    assert_true(geo_is_point(corner));
    corner.latitude = nextafter(corner.latitude, -90);
    assert_false(geo_is_point(corner));
    assert_true(geo_is_point((struct geo_point){180, GEO_LATITUDE_MAX}));
    assert_false(geo_is_point((struct geo_point){180, nextafter(GEO_LATITUDE_MAX, 90)}));
    assert_false(geo_is_point((struct geo_point){nextafter(180, 200), 0}));
    assert_false(geo_is_point((struct geo_point){nextafter(-180, -200), 0}));
    assert_false(geo_is_point((struct geo_point){0, 90}));
    assert_false(geo_is_point((struct geo_point){0, -90}));
    assert_false(geo_is_point((struct geo_point){NAN, 0}));
    assert_false(geo_is_point((struct geo_point){0, INFINITY}));
}

/* A sorted set may have any. */
static void scores_that_are_none_of_a_place_are_points_too(void **state)
{
    static const struct {
        double score;
        struct geo_point p;
    } odd[] = {{-1, {180, GEO_LATITUDE_MAX}},
               {-1e300, {180, -85.051127512639425}},
               {-INFINITY, {180, -85.051127512639425}},
               {1e300, {-179.99999731779099, -85.051127512639425}},
               {INFINITY, {-179.99999731779099, -85.051127512639425}},
               {18446744073709551616.0, {-179.99999731779099, -85.051127512639425}},
               {1.5, {-179.99999731779099, -85.051124977918249}},
               {9223372036854775808.0, {180, -85.051127512639425}},
               {4503599627370497.0, {-179.99999731779099, GEO_LATITUDE_MAX}}};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct geo_point p = geo_point_of(odd[i].score);
        expect_point(p, odd[i].p.longitude, odd[i].p.latitude);
    }
}

/* ---- geohashes ---- */

static void geohashes_are_those_of_the_literature(void **state)
{
    char text[GEO_HASH_BYTES];
    expect_hash("u4pruydqqv0", (struct geo_point){10.40744, 57.64911});
    geo_hash((struct geo_point){-5.603, 42.605}, text);
    assert_memory_equal(text, "ezs42", 5);
    expect_hash("s0000000000", (struct geo_point){0, 0});
    expect_hash("sqc8b49rny0", geo_point_of(geo_score(palermo)));
    expect_hash("sqdtr74hyu0", geo_point_of(geo_score(catania)));
    expect_hash("00bh0hbj200", geo_point_of(0));
    expect_hash("bp05b5048p0", geo_point_of(-1));
    expect_hash("80208104050", geo_point_of(10133378335851536.0));
}

/* ---- distances ---- */

static void distances_are_those_of_redis(void **state)
{
    struct geo_point a = geo_point_of(geo_score(palermo));
    struct geo_point b = geo_point_of(geo_score(catania));
    char text[GEO_TEXT_BYTES];
    assert_int_equal(geo_distance_write(geo_distance(a, b), text), 11);
    assert_memory_equal(text, "166274.1516", 11);
    assert_true(geo_distance(a, b) == geo_distance(b, a));
    assert_true(geo_distance(a, a) == 0);
}

static void the_other_end_of_the_earth_is_half_way_round(void **state)
{
    const double half = 3.14159265358979323846 * 6372797.560856;
    struct geo_point west = {-90, 0};
    struct geo_point east = {90, 0};
    assert_true(fabs(geo_distance(west, east) - half) < 0.001);
    for (int i = 0; i < 10000; i++) {
        struct geo_point p = random_point();
        struct geo_point q = {p.longitude > 0 ? p.longitude - 180 : p.longitude + 180, -p.latitude};
        double d = geo_distance(p, q);
        assert_true(fabs(d - half) < 1);
        double up = geo_distance(p, (struct geo_point){p.longitude, 0});
        assert_true(fabs(up - fabs(p.latitude) / 180 * half) < 0.001);
    }
}

static void the_antimeridian_is_no_border_for_distances(void **state)
{
    double d = geo_distance((struct geo_point){179.5, 0}, (struct geo_point){-179.5, 0});
    double same = geo_distance((struct geo_point){0, 0}, (struct geo_point){1, 0});
    assert_true(fabs(d - same) < 0.001);
}

/* ---- areas ---- */

static void expect_ranges(const struct geo_area *a, const char *expected)
{
    struct geo_range ranges[GEO_RANGES_MAX];
    char text[512] = "";
    size_t len = 0;
    size_t count = geo_area_ranges(a, ranges);
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.0f-%.0f", i > 0 ? " " : "",
                                ranges[i].min, ranges[i].max);
    }
    assert_string_equal(text, expected);
}

static struct geo_area circle(double longitude, double latitude, double km)
{
    return (struct geo_area){.center = {longitude, latitude}, .radius = km, .unit = 1000};
}

static void an_area_is_searched_in_these_ranges(void **state)
{
    struct geo_area a = circle(15, 37, 200);
    expect_ranges(&a, "3475556255399936-3476655767027712 3478854790283264-3479954301911040 "
                      "3477755278655488-3478854790283264 3481053813538816-3482153325166592");
    a = circle(15, 37, 0);
    expect_ranges(&a, "3476504601741708-3476504601741709");
    a = circle(15, 67, 100);
    expect_ranges(&a, "3739439046066176-3740538557693952 3738339534438400-3739439046066176 "
                      "3741638069321728-3742737580949504 3740538557693952-3741638069321728");
    a = circle(15, 85, 100);
    expect_ranges(&a, "3747135627460608-3764727813505024 2251799813685248-2269391999729664 "
                      "3782319999549440-3799912185593856 2286984185774080-2304576371818496");
    a = circle(-179.9, 0, 100);
    expect_ranges(&a, "1125899906842624-1126999418470400 374933465071616-376032976699392 "
                      "4127566650671104-4128666162298880 3376600208900096-3377699720527872");
    a = circle(180, 0, 100);
    expect_ranges(&a, "10133099161583616-10134198673211392 9382132719812608-9383232231440384 "
                      "4127566650671104-4128666162298880 3376600208900096-3377699720527872");
    a = (struct geo_area){
        .center = {-70, -50}, .is_box = true, .width = 400, .height = 100, .unit = 1609.34};
    expect_ranges(&a, "659706976665600-664105023176704 686095255732224-690493302243328");
    a = circle(-113, -62, 300);
    expect_ranges(&a, "219902325555200-224300372066304 171523813933056-175921860444160 "
                      "246290604621824-250688651132928 197912092999680-202310139510784");
    a = circle(164, -63, 900);
    expect_ranges(&a, "3025855999639552-3096224743817216 2955487255461888-3025855999639552 "
                      "70368744177664-140737488355328 0-70368744177664");
    a = circle(180, GEO_LATITUDE_MAX, 0.001);
    expect_ranges(&a, "13510798882111488-13510798882112512 10508399130530816-10508399130531840 "
                      "7505999378950144-7505999378951168 4503599627369472-4503599627370496");
}

static void what_is_as_large_as_the_earth_is_searched_in_four_quarters(void **state)
{
    static const char all[] = "3377699720527872-4503599627370496 2251799813685248-3377699720527872 "
                              "1125899906842624-2251799813685248 0-1125899906842624";
    struct geo_area a = circle(15, 37, 5000);
    expect_ranges(&a, all);
    a = circle(15, 37, INFINITY);
    expect_ranges(&a, all);
    a = circle(15, 37, 1e308);
    a.unit = 1e308;
    expect_ranges(&a, all);
}

/* Where cells are about as wide as they are high, and nothing is beyond an edge of the map. */
static void what_is_in_an_area_is_in_one_of_its_ranges(void **state)
{
    random_seed();
    for (int i = 0; i < 20000; i++) {
        struct geo_point p = {random_between(-170, 170), random_between(-60, 60)};
        double meters = pow(10, random_between(0, 5.5));
        struct geo_area a = {.center = p, .is_box = random_below(2) == 0, .unit = 1};
        a.radius = meters;
        a.width = meters * random_between(0.1, 2);
        a.height = meters * random_between(0.1, 2);
        double up = random_between(-1, 1) * meters / 111000;
        double aside = random_between(-1, 1) * meters / 111000 / cos(p.latitude * 3.1416 / 180);
        double score = geo_score((struct geo_point){p.longitude + aside, p.latitude + up});
        struct geo_range ranges[GEO_RANGES_MAX];
        size_t count = geo_area_ranges(&a, ranges);
        double distance = -1;
        bool is_in = geo_area_has(&a, geo_point_of(score), &distance);
        unsigned found = 0;
        for (size_t k = 0; k < count; k++) found += score >= ranges[k].min && score < ranges[k].max;
        assert_true(found <= 1);
        if (is_in && found == 0)
            fail_msg("%s of %.17g m around %.17g,%.17g", a.is_box ? "box" : "circle", meters,
                     p.longitude, p.latitude);
        if (is_in) assert_true(distance == geo_distance(p, geo_point_of(score)));
    }
}

static void a_circle_has_its_edge_and_a_box_its_sides(void **state)
{
    struct geo_point p = {16, 38};
    struct geo_point center = {15, 37};
    double meters = geo_distance(center, p);
    double distance = 0;
    struct geo_area a = {.center = center, .radius = meters, .unit = 1};
    assert_true(geo_area_has(&a, p, &distance));
    assert_true(distance == meters);
    a.radius = nextafter(meters, 0);
    assert_false(geo_area_has(&a, p, &distance));
    a.unit = 2;
    a.radius = meters / 2;
    assert_true(geo_area_has(&a, p, &distance));

    double up = geo_distance(center, (struct geo_point){15, 38});
    double aside = geo_distance((struct geo_point){15, 38}, p);
    a = (struct geo_area){
        .center = center, .is_box = true, .width = 2 * aside, .height = 2 * up, .unit = 1};
    assert_true(geo_area_has(&a, p, &distance));
    assert_true(distance == meters);
    a.width = nextafter(a.width, 0);
    assert_false(geo_area_has(&a, p, &distance));
    a.width = 2 * aside;
    a.height = nextafter(a.height, 0);
    assert_false(geo_area_has(&a, p, &distance));
}

/* ---- texts ---- */

static void expect_degrees(double degrees, const char *expected)
{
    char text[GEO_TEXT_BYTES + 1] = "";
    text[geo_degrees_write(degrees, text)] = '\0';
    assert_string_equal(text, expected);
}

static void distances_have_four_digits(void **state)
{
    static const struct {
        double distance;
        const char *text;
    } texts[] = {{0, "0.0000"},
                 {0.00004, "0.0000"},
                 {0.00006, "0.0001"},
                 {0.00015, "0.0001"},
                 {1, "1.0000"},
                 {0.775, "0.7750"},
                 {1234.56789, "1234.5679"},
                 {20020741.99995, "20020742.0000"}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char text[GEO_TEXT_BYTES + 1] = "";
        text[geo_distance_write(texts[i].distance, text)] = '\0';
        assert_string_equal(text, texts[i].text);
    }
}

static void degrees_are_as_exact_as_they_can_be_said(void **state)
{
    expect_degrees(0, "0");
    expect_degrees(-0.0, "0");
    expect_degrees(180, "180");
    expect_degrees(-100, "-100");
    expect_degrees(13.361389338970184, "13.36138933897018433");
    expect_degrees(0.1, "0.10000000000000001");
    expect_degrees(-1e-17, "-0.00000000000000001");
    expect_degrees(-1e-18, "0");
    expect_degrees(4e-300, "0");
    expect_degrees(1 - 0x1p-53, "0.99999999999999989");
    expect_degrees(-179.99999999999997, "-179.99999999999997158");
    /* Of two that are equally near, the even one; printf does the same. */
    expect_degrees(0x1p-18, "0.00000381469726562");
    expect_degrees(3 * 0x1p-18, "0.00001144409179688");
    random_seed();
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double scale = i % 2 == 0 ? 180 : pow(10, random_between(-19, 2));
        double x = random_between(-scale, scale);
        int len = snprintf(text, sizeof text, "%.17f", x);
        while (text[len - 1] == '0') len--;
        if (text[len - 1] == '.') len--;
        text[len] = '\0';
        expect_degrees(x, strcmp(text, "-0") == 0 ? "0" : text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_has_the_score_that_it_has_in_redis),
        cmocka_unit_test(a_score_is_the_middle_of_a_cell),
        cmocka_unit_test(points_at_the_bounds_stay_there),
        cmocka_unit_test(scores_that_are_none_of_a_place_are_points_too),
        cmocka_unit_test(geohashes_are_those_of_the_literature),
        cmocka_unit_test(distances_are_those_of_redis),
        cmocka_unit_test(the_other_end_of_the_earth_is_half_way_round),
        cmocka_unit_test(the_antimeridian_is_no_border_for_distances),
        cmocka_unit_test(an_area_is_searched_in_these_ranges),
        cmocka_unit_test(what_is_as_large_as_the_earth_is_searched_in_four_quarters),
        cmocka_unit_test(what_is_in_an_area_is_in_one_of_its_ranges),
        cmocka_unit_test(a_circle_has_its_edge_and_a_box_its_sides),
        cmocka_unit_test(distances_have_four_digits),
        cmocka_unit_test(degrees_are_as_exact_as_they_can_be_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
