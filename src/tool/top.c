/* top: `tupledctl top`, what the server is doing. On a terminal it is a screen of its own that is
 * left as it was found: by q, Ctrl-C, an end of the connection. Elsewhere it prints the same text
 * again and again, or, with --json, an object a line.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/commands.h"
#include "tool/top_int.h"

#define TOP_ROWS_OF_TEXT 40

const struct tool_option top_options[] = {
    {"--once", '1', NULL, "show one interval, then exit"},
    {"--interval", 'i', "SECONDS", "seconds between updates (default: 1)"},
    {.name = NULL},
};

struct top {
    const struct tool *tool;
    struct wire *w;
    struct top_pair pair;
    int64_t interval_s;
    bool is_screen;        /* standard output is a terminal, and it is not --once or --json */
    bool has_keys;         /* standard input is one too */
    struct termios before; /* with has_keys */
    int stop_fd;
    size_t rows, columns;
    char place[WIRE_WHY_BYTES];
};

/* ---- the terminal ---------------------------------------------------------------------------- */

static void top_screen_begin(struct top *k)
{
    if (!k->is_screen) return;
    k->has_keys = isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &k->before) == 0;
    if (k->has_keys) {
        struct termios raw = k->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
        setvbuf(stdin, NULL, _IONBF, 0); /* poll sees what is not read yet */
    }
    fputs("\x1b[?1049h\x1b[?25l", stdout); /* the other screen, no cursor */
    fflush(stdout);
}

static void top_screen_end(struct top *k)
{
    if (!k->is_screen) return;
    fputs("\x1b[?25h\x1b[?1049l", stdout);
    fflush(stdout);
    if (k->has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &k->before);
    k->is_screen = false;
}

static void top_size(struct top *k)
{
    struct winsize size = {.ws_row = 0};
    k->rows = TOP_ROWS_OF_TEXT;
    k->columns = 1000;
    if (!k->is_screen) return;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        k->rows = size.ws_row;
        k->columns = size.ws_col;
    }
}

/* Until the next look. False: the user wants to end it. */
static bool top_wait(struct top *k)
{
    int64_t until_us = clock_mono_us() + k->interval_s * 1000000;
    for (;;) {
        struct pollfd fds[2] = {{.fd = k->stop_fd, .events = POLLIN},
                                {.fd = k->has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
        int64_t left_ms = (until_us - clock_mono_us() + 999) / 1000;
        if (left_ms <= 0) return true;
        if (poll(fds, 2, (int)left_ms) <= 0) continue;
        if (fds[0].revents != 0) return false;
        int key = fgetc(stdin);
        if (key == EOF || key == 'q' || key == 'Q') return false;
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static void top_line(struct top *k, struct buf *out, struct buf *line)
{
    size_t len = line->len < k->columns ? line->len : k->columns;
    if (k->rows > 0) {
        buf_append(out, line->data, len);
        buf_append_str(out, k->is_screen ? "\x1b[K\n" : "\n");
        k->rows--;
    }
    buf_clear(line, 4096);
}

static double top_megabytes(double bytes)
{
    return bytes / (1024 * 1024);
}

static double top_megabytes_of(struct top_pair *p, const char *name)
{
    int64_t bytes = top_now(p, name);
    return top_megabytes((double)bytes);
}

static void top_head(struct top *k, struct buf *out, struct buf *line)
{
    struct top_pair *p = &k->pair;
    struct slice health = top_text(p, "health");
    struct slice version = top_text(p, "tupled_version");
    int64_t up = top_now(p, "uptime_in_seconds");
    buf_printf(line, "tupled %.*s at %.60s   up %lldd %02lld:%02lld:%02lld   health %.*s",
               (int)version.len, (const char *)version.data, k->place, (long long)(up / 86400),
               (long long)(up / 3600 % 24), (long long)(up / 60 % 60), (long long)(up % 60),
               (int)health.len, (const char *)health.data);
    top_line(k, out, line);
    buf_printf(line, "commands %.0f/s   errors %.0f/s   in %.2f MB/s   out %.2f MB/s   cpu %.0f %%",
               top_rate(p, "total_commands_processed"), top_rate(p, "total_error_replies"),
               top_megabytes(top_rate(p, "total_net_input_bytes")),
               top_megabytes(top_rate(p, "total_net_output_bytes")), top_cpu_percent(p));
    top_line(k, out, line);
    buf_printf(line, "clients %lld, %lld blocked, %lld watching   memory %.1f MB, resident %.1f MB",
               (long long)top_now(p, "connected_clients"), (long long)top_now(p, "blocked_clients"),
               (long long)top_now(p, "watching_clients"), top_megabytes_of(p, "used_memory"),
               top_megabytes_of(p, "used_memory_rss"));
    top_line(k, out, line);
    buf_printf(line,
               "journal %.0f syncs/s of %.3f ms, %.1f MB   memtables %.1f MB   store reads %.0f/s",
               top_rate(p, "journal_syncs"), top_sync_ms(p), top_megabytes_of(p, "journal_bytes"),
               top_megabytes_of(p, "memtable_bytes"), top_rate(p, "store_reads"));
    top_line(k, out, line);
    buf_printf(line,
               "queues %lld ready, %lld delayed, %lld leased, %lld dead   in %.0f/s, out %.0f/s, "
               "acknowledged %.0f/s",
               (long long)top_now(p, "queue_ready"), (long long)top_now(p, "queue_delayed"),
               (long long)top_now(p, "queue_leased"), (long long)top_now(p, "queue_dead"),
               top_rate(p, "queue_enqueued"), top_rate(p, "queue_delivered"),
               top_rate(p, "queue_acked"));
    top_line(k, out, line);
    top_line(k, out, line);
}

/* As many as leave room for the slow ones. */
static void top_table(struct top *k, struct buf *out, struct buf *line)
{
    struct top_command *commands = mem_new(TOP_COMMANDS_MAX * sizeof *commands);
    size_t count = top_commands(&k->pair, commands);
    size_t room = k->rows > TOP_SLOWEST + 4 ? k->rows - TOP_SLOWEST - 4 : 1;
    buf_printf(line, "%-28s %12s %10s %12s %10s %10s", "command", "calls/s", "failed/s", "us/call",
               "p50 us", "p99 us");
    top_line(k, out, line);
    for (size_t i = 0; i < count && i < room; i++) {
        const struct top_command *c = &commands[i];
        struct buf name;
        buf_init(&name);
        text_clean(c->name, &name);
        buf_append_byte(&name, '\0');
        buf_require(&name);
        buf_printf(line, "%-28s %12.1f %10.1f %12.1f %10.0f %10.0f", (const char *)name.data,
                   c->calls_per_second, c->failed_per_second, c->usec_per_call, c->p50_us,
                   c->p99_us);
        buf_fini(&name);
        top_line(k, out, line);
    }
    mem_free(commands);
    top_line(k, out, line);
}

static void top_slowest(struct top *k, struct buf *out, struct buf *line)
{
    struct buf words;
    int64_t us = 0;
    buf_init(&words);
    for (size_t i = 0; i < TOP_SLOWEST && top_slow(&k->pair, i, &us, &words); i++) {
        if (i == 0) {
            buf_append_str(line, "slowest (SLOWLOG), ms");
            top_line(k, out, line);
        }
        buf_printf(line, "%10.1f  ", (double)us / 1000);
        buf_append(line, words.data, words.len);
        buf_clear(&words, 4096);
        top_line(k, out, line);
    }
    buf_fini(&words);
}

static void top_show(struct top *k)
{
    struct buf out;
    struct buf line;
    if (k->tool->is_json) {
        top_json(&k->pair);
        return;
    }
    buf_init(&out);
    buf_init(&line);
    top_size(k);
    /* The last row stays free: an end of line there would move the screen. */
    if (k->is_screen) k->rows--;
    if (k->is_screen) buf_append_str(&out, "\x1b[H");
    top_head(k, &out, &line);
    top_table(k, &out, &line);
    top_slowest(k, &out, &line);
    if (k->is_screen) buf_append_str(&out, "\x1b[J");
    text_print(&out);
    output_flush();
    buf_fini(&out);
    buf_fini(&line);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int top_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGTSTP, SIG_IGN); /* would leave the terminal as it is on the screen */
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* tool_fail writes to the other screen while that is shown: what went wrong is said after it. */
static enum tool_status top_loop(struct top *k)
{
    enum tool_status status = top_take(k->w, &k->pair.before);
    bool is_once = tool_has(k->tool, "--once");
    while (status == TOOL_DONE && top_wait(k)) {
        status = top_take(k->w, &k->pair.now);
        if (status != TOOL_DONE) break;
        top_show(k);
        top_sample_fini(&k->pair.before);
        k->pair.before = k->pair.now;
        k->pair.now = (struct top_sample){.at_us = 0};
        if (is_once) break;
    }
    return status;
}

enum tool_status top_run(struct tool *t)
{
    struct top k = {.tool = t, .interval_s = 1};
    enum tool_status status = tool_number(t, "--interval", 1, 86400, &k.interval_s);
    if (status == TOOL_DONE) status = tool_connect(t, &k.w);
    if (status != TOOL_DONE) return status;
    wire_place(&t->server, k.place);
    k.is_screen = isatty(STDOUT_FILENO) != 0 && !t->is_json && !tool_has(t, "--once");
    k.stop_fd = top_signals();
    top_screen_begin(&k);
    status = top_loop(&k);
    bool was_screen = k.is_screen;
    top_screen_end(&k);
    if (status == TOOL_BROKEN && was_screen) tool_fail(status, "%s: %s", k.place, wire_why(k.w));
    if (k.pair.missing != NULL) tool_warn(t, "INFO of the server has no %s", k.pair.missing);
    top_sample_fini(&k.pair.before);
    top_sample_fini(&k.pair.now);
    if (k.stop_fd >= 0) close(k.stop_fd);
    wire_close(k.w);
    return status;
}
