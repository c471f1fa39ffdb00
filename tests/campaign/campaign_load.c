/* campaign_load <directory> <seconds> <host:port>...: clients that write, read and work on a queue
 * for so long, whatever happens to the nodes, and one that follows the feed. At the end the queue is
 * emptied and the cluster is asked what it has. The history is in <directory>: a file of each client,
 * `feed` and `end`. Ends with 1 when the cluster does not answer at the end, or refuses the feed.
 *
 * Environment: CAMPAIGN_SEED; CAMPAIGN_CLIENTS (9); CAMPAIGN_PAUSE_US, the mean time between two
 * acts of one client (4000).
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/acts.h"

#define CLIENTS_MAX 60 /* times CONNECTIONS_OF of acts.c is what the judge takes */
#define LOOK_MS 1000
#define END_MS 5000
#define FEED_MS 300
#define FEED_US 50000    /* between two looks at the feed */
#define END_US 120000000 /* for emptying the queue and reading the rest of the feed */

struct client {
    pthread_t thread;
    struct talk talk;
    int64_t stop_us;
    uint64_t pause_us;
};

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    while (talk_now_us() < c->stop_us) {
        acts_any(&c->talk);
        if (c->pause_us > 0) usleep((useconds_t)talk_below(&c->talk, 2 * c->pause_us));
    }
    talk_close(&c->talk);
    return NULL;
}

struct follower {
    pthread_t thread;
    struct talk talk;
    atomic_bool is_last; /* what is there now is all */
    bool is_told;        /* the feed is whole */
};

/* As the feed grows: so the log may let go of what was read, and a row that was shown and is lost then is one too many. */
static void *run_follower(void *arg)
{
    struct follower *f = arg;
    char from[ACTS_VERSION_BYTES] = "0";
    bool is_last;
    do {
        is_last = atomic_load(&f->is_last);
        f->is_told = acts_tell_feed(&f->talk, from);
        if (!is_last) usleep(FEED_US);
    } while (f->is_told && !is_last);
    talk_close(&f->talk);
    return NULL;
}

static FILE *open_file(const char *directory, const char *name, unsigned number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%u", directory, name, number);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        exit(2);
    }
    return f;
}

static void take_nodes(struct talk_nodes *nodes, char **words, int count)
{
    for (int i = 0; i < count && i < TALK_NODES_MAX; i++) {
        char *colon = strrchr(words[i], ':');
        if (colon == NULL) exit(2);
        *colon = '\0';
        nodes->host[i] = words[i];
        nodes->port[i] = (int)strtol(colon + 1, NULL, 10);
        nodes->count = i + 1;
    }
}

/* Three kinds of clients: those that wait long hear what a node says that was stopped or cut off
 * for a while; the hasty ones have gone to another by then; and readers, one for each node, ask
 * theirs for this and that as long as it answers anything. Beside them one for each node, after the
 * others, who reads what the node has when it stands by. */
static struct talk new_talk(const struct talk_nodes *nodes, unsigned number, bool is_looker,
                            FILE *out)
{
    static const int reply_ms[] = {60, 300, 8000};
    uint64_t seed = number_of("CAMPAIGN_SEED", 1);
    return (struct talk){.nodes = nodes,
                         .out = out,
                         .number = number,
                         .node = (int)(is_looker ? number : number / 3) % nodes->count,
                         .is_reader = is_looker || number % 3 == 0,
                         .is_looker = is_looker,
                         .is_hasty = !is_looker && number % 3 == 1,
                         .reply_ms = is_looker ? LOOK_MS : reply_ms[number % 3],
                         .random = seed * 1000003 + number};
}

/* One that goes to whichever node leads, with a history file of its own. */
static struct talk new_sure_talk(const struct talk_nodes *nodes, unsigned number,
                                 const char *directory, const char *name)
{
    struct talk t = new_talk(nodes, number, false, open_file(directory, name, 0));
    t.is_reader = t.is_hasty = false;
    return t;
}

int main(int argc, char **argv)
{
    static struct client clients[CLIENTS_MAX];
    struct talk_nodes nodes = {0};
    unsigned others = (unsigned)number_of("CAMPAIGN_CLIENTS", 9);
    if (argc < 4 || others > CLIENTS_MAX - TALK_NODES_MAX) {
        fprintf(stderr, "usage: campaign_load <directory> <seconds> <host:port>...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    take_nodes(&nodes, argv + 3, argc - 3);
    unsigned count = others + (unsigned)nodes.count;
    int64_t stop_us = talk_now_us() + strtoll(argv[2], NULL, 10) * 1000000;
    for (unsigned i = 0; i < count; i++) {
        clients[i].talk = new_talk(&nodes, i + 1, i >= others, open_file(argv[1], "client", i + 1));
        clients[i].stop_us = stop_us;
        /* A reader has nothing to bring to an end. */
        clients[i].talk.until_us = stop_us + (clients[i].talk.is_reader ? 0 : END_US);
        clients[i].pause_us = number_of("CAMPAIGN_PAUSE_US", 4000);
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0) abort();
    }
    struct follower follower = {.talk = new_sure_talk(&nodes, count + 2, argv[1], "feed")};
    follower.talk.until_us = stop_us + END_US;
    follower.talk.reply_ms = FEED_MS;
    if (pthread_create(&follower.thread, NULL, run_follower, &follower) != 0) abort();
    for (unsigned i = 0; i < count; i++) {
        pthread_join(clients[i].thread, NULL);
        fclose(clients[i].talk.out);
    }
    struct talk last = new_sure_talk(&nodes, count + 1, argv[1], "end");
    last.until_us = stop_us + END_US;
    last.reply_ms = END_MS;
    fprintf(last.out, "stop %lld\n", (long long)stop_us);
    bool is_told = acts_drain(&last) && acts_tell_end(&last);
    talk_close(&last);
    fclose(last.out);
    atomic_store(&follower.is_last, true);
    pthread_join(follower.thread, NULL);
    fclose(follower.talk.out);
    is_told = is_told && follower.is_told;
    if (!is_told) fprintf(stderr, "campaign_load: the cluster does not answer at the end\n");
    return is_told ? 0 : 1;
}
