/* campaign_proxy <port>:<target port>...: passes TCP connections of this machine on, and is told on
 * its standard input, a line each, what to do with them:
 *
 *   pass <n>        the n-th pair (from 1; 0 = all) passes bytes on
 *   drop <n>        it swallows them, in both directions, and answers nothing: as if a cable was
 *                   cut. Connections stay; after `pass` those that were used meanwhile are ended
 *   delay <n> <ms>  every piece of at most 64 KB is passed on so much later
 *   to <n> <port>   from now on its target is another one
 *
 * It answers each with `ok`. Ends when its input ends. A thread for each direction.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS_MAX 16
#define LOOK_US 5000

struct pair {
    int listener;
    int target;      /* port; atomic */
    int is_dropping; /* atomic */
    int delay_ms;    /* atomic */
};

/* Both directions of a connection; the second one that ends frees it. */
struct link {
    struct pair *pair;
    int fd[2]; /* from the client, to the target */
    int users; /* atomic */
};

struct direction {
    struct link *link;
    int from, to;
};

static struct pair pairs[PAIRS_MAX];
static int pair_count;

static int get(const int *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static struct sockaddr_in address(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void end_link(struct link *l)
{
    shutdown(l->fd[0], SHUT_RDWR);
    shutdown(l->fd[1], SHUT_RDWR);
    if (__atomic_sub_fetch(&l->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    close(l->fd[0]);
    close(l->fd[1]);
    free(l);
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static void *carry(void *arg)
{
    struct direction d = *(struct direction *)arg;
    const struct pair *p = d.link->pair;
    static __thread char bytes[65536];
    free(arg);
    for (;;) {
        ssize_t n = recv(d.link->fd[d.from], bytes, sizeof bytes, 0);
        bool was_dropping = get(&p->is_dropping);
        while (get(&p->is_dropping)) usleep(LOOK_US);
        if (n <= 0 || was_dropping) break;
        if (get(&p->delay_ms) > 0) usleep((useconds_t)get(&p->delay_ms) * 1000);
        if (!send_all(d.link->fd[d.to], bytes, (size_t)n)) break;
    }
    end_link(d.link);
    return NULL;
}

static void start(struct link *l, int from)
{
    pthread_t thread;
    struct direction *d = malloc(sizeof *d);
    if (d == NULL) abort();
    *d = (struct direction){l, from, 1 - from};
    if (pthread_create(&thread, NULL, carry, d) != 0) abort();
    pthread_detach(thread);
}

static void *serve(void *arg)
{
    struct pair *p = arg;
    int one = 1;
    for (;;) {
        int client = accept(p->listener, NULL, NULL);
        if (client < 0) abort();
        /* A client that connects meanwhile hears nothing, and is ended afterwards. */
        struct link *l = calloc(1, sizeof *l);
        if (l == NULL) abort();
        int target = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = address(get(&p->target));
        *l = (struct link){.pair = p, .fd = {client, target}, .users = 2};
        if (!get(&p->is_dropping) && connect(target, (struct sockaddr *)&a, sizeof a) != 0) {
            l->users = 1;
            end_link(l);
            continue;
        }
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(target, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        start(l, 0);
        start(l, 1);
    }
    return NULL;
}

static void add_pair(const char *text)
{
    int one = 1;
    char *colon = NULL;
    struct pair *p = &pairs[pair_count++];
    struct sockaddr_in a = address((int)strtol(text, &colon, 10));
    if (pair_count > PAIRS_MAX || *colon != ':') exit(2);
    p->target = (int)strtol(colon + 1, NULL, 10);
    pthread_t thread;
    p->listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(p->listener, (struct sockaddr *)&a, sizeof a) != 0 || listen(p->listener, 128) != 0) {
        perror("campaign_proxy");
        exit(1);
    }
    if (pthread_create(&thread, NULL, serve, p) != 0) abort();
    pthread_detach(thread);
}

static void set(int *(*member)(struct pair *), int n, int value)
{
    for (int i = 0; i < pair_count; i++) {
        if (n == 0 || n == i + 1) __atomic_store_n(member(&pairs[i]), value, __ATOMIC_RELEASE);
    }
}

static int *is_dropping_of(struct pair *p)
{
    return &p->is_dropping;
}

static int *delay_of(struct pair *p)
{
    return &p->delay_ms;
}

static int *target_of(struct pair *p)
{
    return &p->target;
}

int main(int argc, char **argv)
{
    char line[128];
    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i < argc; i++) add_pair(argv[i]);
    puts("ok");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *rest = line;
        const char *word = strsep(&rest, " ");
        int n = rest != NULL ? (int)strtol(rest, &rest, 10) : 0;
        int value = rest != NULL ? (int)strtol(rest, NULL, 10) : 0;
        if (strcmp(word, "pass") == 0) {
            set(is_dropping_of, n, 0);
        } else if (strcmp(word, "drop") == 0) {
            set(is_dropping_of, n, 1);
        } else if (strcmp(word, "delay") == 0) {
            set(delay_of, n, value);
        } else if (strcmp(word, "to") == 0) {
            set(target_of, n, value);
        } else {
            return 2;
        }
        puts("ok");
        fflush(stdout);
    }
    return 0;
}
