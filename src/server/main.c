/* main: `tupled [config-file] [--name value ...]`. */
#include <stdio.h>

#include "server/heap.h"
#include "server/server.h"
#include "tupled.h"

static void print_help(void)
{
    printf("usage: tupled [config-file] [--name value ...]\n       tupled --version | --help\n\nA "
           "durable server for any Redis client. Settings (one per line in the file, with two "
           "dashes\non the command line; conf/tupled.conf explains each):\n\n");
    for (size_t i = 0; i < config_count(); i++) {
        printf("  --%-28s %s\n", config_name(i), config_help(i));
        printf("    %-28s default: %s\n", "", config_default(i));
    }
}

int main(int argc, char **argv)
{
    struct config config;
    struct error e = {0};
    heap_begin();
    config_init(&config);
    int status = 1;
    if (config_load(&config, argc, argv, &e) != OK) {
        fprintf(stderr, "tupled: %s\n", e.text);
    } else if (config.action == CONFIG_SHOW_VERSION) {
        printf("tupled %s\n", TUPLED_VERSION);
        status = 0;
    } else if (config.action == CONFIG_SHOW_HELP) {
        print_help();
        status = 0;
    } else {
        status = server_run(&config, argv[0], NULL);
    }
    config_fini(&config);
    return status;
}
