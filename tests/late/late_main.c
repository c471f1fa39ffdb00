/* late_main: the server over a journal and a store that answer late (late.h), for redis-tests: as
 * src/server/main.c. Nothing fails: a client may be told of that, and most tests take it for a
 * failure. TUPLED_LATE_SEED: the seed of its delays.
 */
#include <stdio.h>
#include <stdlib.h>

#include "late/late.h"
#include "server/server.h"

int main(int argc, char **argv)
{
    struct config config;
    struct error e = {0};
    const char *seed = getenv("TUPLED_LATE_SEED");
    struct late_options options = {
        .seed = seed != NULL ? strtoull(seed, NULL, 10) : 1, .wait_percent = 80, .delay_us = 2000};
    struct late *late = late_new(&options);
    struct db_wrap wrap = {.wrap = late_wrap_db, .arg = late};
    int status = 1;
    config_init(&config);
    if (config_load(&config, argc, argv, &e) != OK) {
        fprintf(stderr, "tupled: %s\n", e.text);
    } else if (config.action == CONFIG_RUN) {
        status = server_run(&config, argv[0], &wrap);
    } else {
        fprintf(stderr, "tupled-late: only runs servers\n");
    }
    config_fini(&config);
    late_free(late);
    return status;
}
