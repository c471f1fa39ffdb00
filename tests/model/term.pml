/* term: who leads, and what is acknowledged, over a PostgreSQL with a standby: a model of
 * src/backend/postgres/term.h and pg_append.c, which spin checks in every order of events
 * (tests/model/run.sh). docs/cluster.md draws it, and says what it leaves out.
 *
 * Time: one clock, in ticks. A lease is LEASE ticks. What a node counts grows with each tick, and
 * any number of ticks goes by between any two steps: so each node may be stopped at any moment.
 *
 * PostgreSQL: a statement is written at the primary. It is seen and answered when the standby has
 * it. When the primary restarts, all that is written is seen, and the standby may not have it. When the
 * primary is lost, what the standby has is all there is; or another one is promoted, which lacks the
 * last batch. A server that is promoted has a name of its own. Who updates the row of the leader waits
 * for an update of it that is not seen yet; a take-over waits for appends too, and they for it.
 *
 * synchronous_standby_names may be emptied, and set again: meanwhile, and when it happens, PostgreSQL
 * answers without a standby. Nodes ask after each write, and are in doubt then.
 *
 * Each statement of a node is sent, done at the primary or never, and answered or not. A node may give up
 * what it sent; a take-over or an append of that kind may still be done later. Two appends may be sent by
 * one connection: PostgreSQL begins the second when it has answered the first.
 *
 * FAULT_... plants a fault, which the check must find.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef EPOCHS
#define EPOCHS 2 /* take-overs, with that of who leads at the start */
#endif
#ifndef BEATS
#define BEATS 3 /* take-overs, renewals and other writes of the row, in all */
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef LESS /* of the losses: the server that is promoted had less */
#define LESS 1
#endif
#ifndef EMPTIES /* of synchronous_standby_names */
#define EMPTIES 0
#endif
#ifndef LEASE
#define LEASE 1
#endif
#define BATCHES 2 /* places; */
#ifndef APPENDS_MAX
#define APPENDS_MAX 1 /* so many are used */
#endif
#define WAL 3
#define NOBODY 7

mtype = { TAKE, BEAT, APPEND };                 /* statements that write */
mtype = { FREE, SENT, WRITTEN, YES, NO, LOST, DOUBT }; /* of a statement: where it is, its answer */
mtype = { FOLLOWS, TAKES, CLAIMS, STARTS, RESERVES, LEADS, ENDED };
mtype = { IDLE, APPENDS, FINDS, FENCES };

/* What a server has. A batch is told from others by who wrote it, and in which epoch. `beat` is another
 * one with each renewal: `beats` counts them all. */
typedef server {
    byte epoch;
    byte holder;
    byte beat;
    byte count;
    byte batch[BATCHES];
}

typedef node {
    mtype state = FOLLOWS;
    mtype append = IDLE;
    byte epoch;              /* leads in it, or wants to */
    byte row_epoch = NOBODY; /* as it was last looked at */
    byte row_beat;
    byte age;                /* ticks: since the row was first seen so; or of the lease */
    byte sent;               /* ... since the statement was sent that may begin a lease */
    byte at;                 /* of its term */
    bool is_stale;           /* what it knows is gone, and it has not heard of it */
    byte count;              /* of the batches it knows to be safe */
    byte batch[BATCHES];
    mtype row;               /* its statement by the connection for the row, */
    mtype row_what;
    mtype log;               /* ... by the other */
    mtype log_what;
    mtype ahead;             /* the next append, sent by that connection before the answer to this one */
    bool late_take;          /* given up, and may still be done */
    bool late_append;
    byte late_ahead;         /* ... and the batch that was sent after it; 0 = none */
    byte late_epoch, late_beat, late_batch;
}

server written, seen, standby;
chan wal = [WAL] of { mtype, byte, byte, byte, byte }; /* what the standby does not have, oldest first */
byte unseen;           /* so many of its last are not seen */
mtype locked;          /* the update of the row that is not seen */
bool locked_log;       /* an append is not seen */
byte restarts, losses, beats, takes, empties;
byte server_name;      /* another one for each that is promoted */
bool is_empty;         /* synchronous_standby_names */
node nodes[NODES];

/* What clients have heard. */
byte told, told_by = NOBODY, acknowledged;
byte promised[BATCHES];

#define N nodes[me]
#define ID(n) (nodes[n].epoch * 8 + (n) + 1)
#define HAS_LEASE (N.age < LEASE)

/* ---- PostgreSQL ---- */

/* Macros, as spin's inline functions take no parts of a structure. */
#define APPLY(to, what, n, e, b, id)                                   \
    if                                                                 \
    :: what == TAKE -> to.epoch = e; to.holder = n; to.beat = b        \
    :: what == BEAT -> to.beat = b                                     \
    :: what == APPEND -> to.batch[b] = id; to.count = (b) + 1          \
    fi
#define WRITE(what, n, e, b, id)                                       \
    APPLY(written, what, n, e, b, id);                                 \
    wal!what,n,e,b,id;                                                 \
    unseen++;                                                          \
    if                                                                 \
    :: what == APPEND -> locked_log = true                             \
    :: else -> locked = what                                           \
    fi

#ifdef FAULT_ANY_SERVER
#define IS_MY_SERVER true
#else
#define IS_MY_SERVER (N.at == server_name)
#endif
#ifdef FAULT_BELIEVED
#define LET_GO YES
#else
#define LET_GO DOUBT
#endif
#define ROW_IS_FREE (nfull(wal) && locked == 0)
#define LOG_IS_FREE (nfull(wal) && locked != TAKE && !locked_log)
#ifdef FAULT_APPEND_NOT_FENCED
#define MAY_APPEND(b) (seen.count == (b))
#define MAY_APPEND_AHEAD(b) MAY_APPEND(b)
#else
#define MAY_APPEND(b) (seen.epoch == N.epoch && seen.count == (b))
#ifdef FAULT_AHEAD_OF_NOTHING
#define MAY_APPEND_AHEAD(b) (seen.epoch == N.epoch && seen.count <= (b))
#else
#define MAY_APPEND_AHEAD(b) MAY_APPEND(b)
#endif
#endif
#define IS_MINE (seen.epoch == N.epoch)
#define MAY_CLAIM (IS_MINE && seen.holder == me)

/* (d) Who leads when another server is promoted may say what it knows until its lease ends. It does
 * not write there: what it knows may be gone. */
#define KNOWS assert(!N.is_stale)

/* A statement of one node is done at the primary: what is not changed is answered at once. */
proctype statement(byte me) {
    do
    :: d_step { N.row == SENT && IS_MY_SERVER && ROW_IS_FREE && N.row_what == TAKE ->
        if
        :: seen.epoch == N.row_epoch && seen.beat == N.row_beat && takes < EPOCHS ->
            takes++;
            beats++;
            N.row = WRITTEN;
            WRITE(TAKE, me, seen.epoch + 1, beats, 0)
        :: else -> N.row = NO
        fi }
    :: d_step { N.row == SENT && IS_MY_SERVER && ROW_IS_FREE && N.row_what == BEAT && beats < BEATS ->
        if
        :: IS_MINE && (N.state != CLAIMS || MAY_CLAIM) ->
            KNOWS;
            beats++;
            N.row = WRITTEN;
            WRITE(BEAT, me, 0, beats, 0)
        :: else -> N.row = NO
        fi }
    :: d_step { N.log == SENT && IS_MY_SERVER && ROW_IS_FREE && N.log_what == BEAT && beats < BEATS ->
        if
        :: IS_MINE ->
            KNOWS;
            beats++;
            N.log = WRITTEN;
            WRITE(BEAT, me, 1, beats, 0)
        :: else -> N.log = NO
        fi }
    :: d_step { N.log == SENT && IS_MY_SERVER && LOG_IS_FREE && N.log_what == APPEND ->
        if
        :: MAY_APPEND(N.count) ->
            KNOWS;
            N.log = WRITTEN;
            WRITE(APPEND, me, 1, N.count, ID(me))
        :: else -> N.log = NO
        fi }
    /* What was sent ahead is begun when the one before it is over. */
    :: d_step { N.ahead == SENT && IS_MY_SERVER && (N.log == YES || N.log == NO || N.log == DOUBT) && LOG_IS_FREE ->
        if
        :: MAY_APPEND_AHEAD(N.count + 1) ->
            N.ahead = WRITTEN;
            WRITE(APPEND, me, 1, N.count + 1, ID(me))
        :: else -> N.ahead = NO
        fi }
    :: d_step { N.late_take && ROW_IS_FREE ->
        if
        :: seen.epoch == N.late_epoch && seen.beat == N.late_beat && takes < EPOCHS ->
            takes++;
            beats++;
            WRITE(TAKE, me, seen.epoch + 1, beats, 0)
        :: else
        fi;
        N.late_take = false; N.late_epoch = 0; N.late_beat = 0 }
    :: d_step { N.late_append && LOG_IS_FREE ->
        if
        :: MAY_APPEND(N.late_batch) -> WRITE(APPEND, me, 1, N.late_batch, ID(me))
        :: else
        fi;
        N.late_append = false; N.late_batch = 0 }
    :: d_step { N.late_ahead > 0 && LOG_IS_FREE ->
        if
        :: MAY_APPEND_AHEAD(N.late_ahead) -> WRITE(APPEND, me, 1, N.late_ahead, ID(me))
        :: else
        fi;
        N.late_ahead = 0 }
    od
}

inline forget() {
    if
    :: nodes[n].row == SENT || nodes[n].row == WRITTEN -> nodes[n].row = LOST
    :: else
    fi;
    if
    :: nodes[n].log == SENT || nodes[n].log == WRITTEN -> nodes[n].log = LOST
    :: else
    fi;
    if
    :: nodes[n].ahead == SENT || nodes[n].ahead == WRITTEN -> nodes[n].ahead = LOST
    :: else
    fi;
    nodes[n].late_take = false; nodes[n].late_epoch = 0; nodes[n].late_beat = 0;
    nodes[n].late_append = false; nodes[n].late_ahead = 0; nodes[n].late_batch = 0
}

inline forget_all() {
    n = 0;
    do
    :: n < NODES -> forget(); n++
    :: else -> break
    od;
    n = 0; unseen = 0; locked = 0; locked_log = false
}

/* Whatever waits for a standby is answered without one. */
inline let_go() {
    n = 0;
    do
    :: n < NODES ->
        if
        :: nodes[n].row == WRITTEN -> nodes[n].row = LET_GO
        :: else
        fi;
        if
        :: nodes[n].log == WRITTEN -> nodes[n].log = LET_GO
        :: else
        fi;
        if
        :: nodes[n].ahead == WRITTEN -> nodes[n].ahead = LET_GO
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0; unseen = 0; locked = 0; locked_log = false
}

/* Who leads at another server has what is not there, until it hears of it. */
inline promoted() {
    server_name++; is_empty = false;
    n = 0;
    do
    :: n < NODES -> nodes[n].is_stale = (nodes[n].state != FOLLOWS && nodes[n].state != ENDED); n++
    :: else -> break
    od;
    n = 0;
    if
    :: acknowledged > written.count -> acknowledged = written.count
    :: else
    fi
}

#define COPY(to, from)                                                 \
    to.epoch = from.epoch; to.holder = from.holder; to.beat = from.beat; \
    to.count = from.count; to.batch[0] = from.batch[0]; to.batch[1] = from.batch[1]

proctype postgres() {
    byte n, e, b, id;
    mtype what;
    do
    /* The standby has one more; if it was not seen, it is now, and its writer is answered. */
    :: d_step { nempty(wal) ->
        wal?what,n,e,b,id;
        APPLY(standby, what, n, e, b, id);
        if
        :: unseen > len(wal) ->
            APPLY(seen, what, n, e, b, id);
            unseen--;
            if
            :: what == APPEND -> locked_log = false
            :: else -> locked = 0
            fi;
            if
            :: (what == TAKE || (what == BEAT && e == 0)) && nodes[n].row == WRITTEN -> nodes[n].row = YES
            :: (what == APPEND || (what == BEAT && e == 1)) && nodes[n].log == WRITTEN -> nodes[n].log = YES
            :: what == APPEND && nodes[n].log != WRITTEN && nodes[n].ahead == WRITTEN -> nodes[n].ahead = YES
            :: else
            fi
        :: else
        fi;
        what = 0; n = 0; e = 0; b = 0; id = 0 }
    :: d_step { restarts < RESTARTS -> restarts++; COPY(seen, written); forget_all() }
    :: d_step { losses < LOSSES -> losses++;
        do
        :: nempty(wal) -> wal?what,n,e,b,id
        :: empty(wal) -> break
        od;
        COPY(written, standby); COPY(seen, standby); forget_all(); promoted();
        what = 0; e = 0; b = 0; id = 0 }
    :: d_step { losses < LOSSES && LESS > 0 && standby.count > 0 -> losses++;
        do
        :: nempty(wal) -> wal?what,n,e,b,id
        :: empty(wal) -> break
        od;
        standby.count--; standby.batch[standby.count] = 0;
        COPY(written, standby); COPY(seen, standby); forget_all(); promoted();
        what = 0; e = 0; b = 0; id = 0 }
    :: d_step { empties < EMPTIES && !is_empty -> empties++; is_empty = true; COPY(seen, written); let_go() }
    :: d_step { is_empty && unseen > 0 -> COPY(seen, written); let_go() }
    :: d_step { is_empty -> is_empty = false }
    od
}

/* ---- time ---- */

#define OLDER(x) x = (x < LEASE -> x + 1 : LEASE)
/* What does not matter stays 0: the fewer states there are. */
#ifdef FAULT_SEEN_FROM_BEFORE
#define OLDER_SENT OLDER(nodes[n].sent)
#else
#define OLDER_SENT nodes[n].sent = (nodes[n].row != FREE && nodes[n].sent < LEASE -> nodes[n].sent + 1 : nodes[n].sent)
#endif
proctype clock() {
    byte n;
    do
    :: d_step { n == 0 ->
        do
        :: n < NODES -> OLDER(nodes[n].age); OLDER_SENT; n++
        :: else -> break
        od;
        n = 0 }
    od
}

/* ---- a node ---- */

/* The answer does not come, or is not waited for. */
inline give_up_row() {
    if
    :: N.row == SENT && N.row_what == TAKE ->
        N.late_take = true; N.late_epoch = N.row_epoch; N.late_beat = N.row_beat
    :: else
    fi;
    N.row = FREE; N.row_what = 0; N.sent = 0
}
inline give_up_log() {
    if
    :: N.log == SENT && N.log_what == APPEND -> N.late_append = true; N.late_batch = N.count
    :: else
    fi;
    if
    :: N.ahead == SENT -> N.late_ahead = N.count + 1
    :: else
    fi;
    N.log = FREE; N.log_what = 0; N.ahead = FREE
}
inline send_row(s) { N.row = SENT; N.row_what = s; N.sent = 0 }
inline send_log(s) { N.log = SENT; N.log_what = s }
inline got_row() { N.row = FREE; N.row_what = 0; N.sent = 0 }
inline got_log() { N.log = FREE; N.log_what = 0 }
/* The answer to what was sent ahead is the next one. */
inline next_log() {
    if
    :: N.ahead == FREE -> got_log()
    :: else -> N.log = N.ahead; N.ahead = FREE; N.append = APPENDS
    fi
}
inline ends() {
    N.is_stale = false; N.at = 0;
    N.state = ENDED; N.append = IDLE; N.age = LEASE; N.count = 0; N.batch[0] = 0; N.batch[1] = 0;
    got_row(); got_log(); N.ahead = FREE
}
inline appended() { N.batch[N.count] = ID(me); N.count++; N.append = IDLE }

#ifdef FAULT_LEASE_FROM_ANSWER
#define LEASE_AGE 0
#else
#define LEASE_AGE N.sent
#endif
#ifdef FAULT_NO_WAIT
#define HAS_WAITED true
#else
#define HAS_WAITED (N.age >= LEASE)
#endif
#ifdef FAULT_SEEN_FROM_BEFORE
#define SEEN_AGE N.sent
#else
#define SEEN_AGE 0
#endif
#ifdef FAULT_ANSWER_WITHOUT_LEASE
#define MAY_ANSWER true
#else
#define MAY_ANSWER HAS_LEASE
#endif
#define IS_UNKNOWN(s) (s == SENT || s == WRITTEN || s == LOST || s == DOUBT || s == YES || s == NO)

proctype runs(byte me) {
    byte b;
    do
    /* FOLLOWS: looks, and takes over when it has seen the same for long enough. */
#ifdef FAULT_SEEN_FROM_BEFORE
    :: d_step { N.state == FOLLOWS && N.row == FREE -> N.sent = 0 }
#endif
    :: d_step { N.state == FOLLOWS && (seen.epoch != N.row_epoch || seen.beat != N.row_beat) ->
        N.row_epoch = seen.epoch; N.row_beat = seen.beat; N.age = SEEN_AGE }
    :: d_step { N.state == FOLLOWS && N.row_epoch != NOBODY && HAS_WAITED ->
        N.state = TAKES; N.at = server_name; send_row(TAKE) }
    :: d_step { N.state == TAKES && N.row == YES -> N.age = LEASE_AGE; got_row();
        N.epoch = N.row_epoch + 1; N.row_epoch = 0; N.row_beat = 0; N.state = STARTS }
    :: d_step { N.state == TAKES && N.row == NO -> got_row(); N.at = 0; N.is_stale = false;
        N.state = FOLLOWS; N.age = 0; N.row_epoch = NOBODY; N.row_beat = 0 }
    /* No answer: was it done? What is found may be lost again: it counts when a beat is answered. */
    :: d_step { N.state == TAKES && IS_UNKNOWN(N.row) ->
        give_up_row();
        if
        :: IS_MY_SERVER && seen.holder == me && seen.epoch == N.row_epoch + 1 -> N.epoch = seen.epoch;
            N.state = CLAIMS; send_row(BEAT)
        :: else -> N.state = FOLLOWS; N.age = 0; N.row_epoch = NOBODY; N.row_beat = 0;
            N.at = 0; N.is_stale = false
        fi }
    :: d_step { N.state == CLAIMS && N.row == YES -> N.age = LEASE_AGE; got_row();
        N.row_epoch = 0; N.row_beat = 0; N.state = STARTS }
    :: d_step { N.state == CLAIMS && IS_UNKNOWN(N.row) && N.row != YES -> got_row();
        N.state = FOLLOWS; N.age = 0; N.row_epoch = NOBODY; N.row_beat = 0; N.epoch = 0;
        N.at = 0; N.is_stale = false }

    /* Reads what there is; then a first fenced write must be answered. */
    :: d_step { N.state == STARTS && IS_MY_SERVER -> N.count = seen.count; N.batch[0] = seen.batch[0];
        N.batch[1] = seen.batch[1]; N.state = RESERVES; N.log = SENT; N.log_what = BEAT }
    :: d_step { N.state == RESERVES && N.log == YES -> got_log(); N.state = LEADS }
    :: d_step { N.state == RESERVES && (N.log == NO || N.log == LOST || N.log == DOUBT) -> ends() }

    /* A new connection is to another server: this node does not go on there. */
#ifndef FAULT_ANY_SERVER
    :: d_step { N.state != FOLLOWS && N.state != TAKES && N.state != ENDED && !IS_MY_SERVER -> ends() }
#endif

    /* LEADS: renews, */
    :: d_step { N.state == LEADS && N.row == FREE && beats < BEATS -> send_row(BEAT) }
    :: d_step { N.state == LEADS && N.row == YES -> N.age = LEASE_AGE; got_row() }
    :: d_step { N.state == LEADS && N.row == NO -> ends() }
    :: d_step { N.state == LEADS && IS_UNKNOWN(N.row) && N.row != NO -> got_row() }

    /* ... appends, */
    :: d_step { N.state == LEADS && N.append == IDLE && N.count < APPENDS_MAX -> N.append = APPENDS;
        send_log(APPEND) }
    :: d_step { N.append == APPENDS && N.ahead == FREE && (N.log == SENT || N.log == WRITTEN) &&
        N.count + 1 < APPENDS_MAX -> N.ahead = SENT }
    :: d_step { N.append == APPENDS && N.log == YES -> appended(); next_log() }
    :: d_step { N.append == APPENDS && IS_UNKNOWN(N.log) && N.log != YES -> give_up_log();
        N.append = FINDS }
    :: d_step { N.append == FINDS && IS_MY_SERVER ->
        if
        :: seen.epoch != N.epoch || seen.count < N.count -> ends()
        :: else ->
            if
            :: seen.count == N.count -> send_log(APPEND); N.append = APPENDS
            :: else ->
                assert(seen.batch[N.count] == ID(me));
#ifdef FAULT_FOUND_BATCH_COUNTS
                appended()
#else
                send_log(BEAT); N.append = FENCES
#endif
            fi
        fi }
    :: d_step { N.append == FENCES && N.log == YES -> got_log(); appended() }
    :: d_step { N.append == FENCES && N.log == NO -> ends() }
    :: d_step { N.append == FENCES && IS_UNKNOWN(N.log) && N.log != NO -> got_log();
        N.append = FINDS }

    /* ... and answers, by all it knows to be safe. */
    :: d_step { N.state == LEADS && MAY_ANSWER ->
        /* (a) None of a lower epoch, and one of each, once one of this has answered. */
        assert(N.epoch > told || (N.epoch == told && told_by == me));
        told = N.epoch; told_by = me;
        /* (b) It knows all that was acknowledged. (c) The standby has what it acknowledges. */
        assert(N.is_stale || (N.count >= acknowledged && standby.count >= N.count));
        b = 0;
        do
        :: b < N.count && !N.is_stale ->
            assert(b >= acknowledged || promised[b] == N.batch[b]);
            assert(standby.batch[b] == N.batch[b]);
            promised[b] = N.batch[b];
            b++
        :: else -> break
        od;
        b = 0;
        if
        :: !N.is_stale -> acknowledged = N.count
        :: else
        fi }
    od
}

init {
    byte n;
    d_step {
        written.holder = NOBODY; seen.holder = NOBODY; standby.holder = NOBODY;
        n = 0;
        do
        :: n < NODES ->
            nodes[n].state = FOLLOWS; nodes[n].append = IDLE; nodes[n].row = FREE; nodes[n].log = FREE;
            nodes[n].ahead = FREE;
            nodes[n].row_epoch = NOBODY;
            n++
        :: else -> break
        od;
        n = 0;
        nodes[0].state = LEADS; nodes[0].epoch = 1; nodes[0].row_epoch = 0;
        written.epoch = 1; written.holder = 0; takes = 1;
        COPY(seen, written); COPY(standby, written)
    }
    atomic {
        run postgres();
        run clock();
        do
        :: n < NODES -> run statement(n); run runs(n); n++
        :: else -> break
        od;
        n = 0
    }
}
