import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TrackingArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.push.PushMessage;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.CacheFrontend;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.csc.CacheStats;
import redis.clients.jedis.params.SetParams;

/**
 * The cache of Jedis or Lettuce: what was read is answered without the server until it has changed.
 *
 * <p>usage: Cache (jedis or lettuce) (port)
 * Prints `ok - name` and `not ok - name` lines, and asks for the server's death and start (connect.sh).
 */
public class Cache {
    interface Library {
        String get(String key) throws Exception;

        /** How many reads the library says were answered by its cache; -1 when it does not count. */
        long hits();

        /** So that it sees whether its connection is still there. */
        void speak();

        void close();
    }

    interface Step {
        void run() throws Exception;
    }

    interface Fact {
        boolean holds() throws Exception;
    }

    static int port;
    static String name;
    static int failed = 0;
    static final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));

    static Library jedis() {
        RedisClient client = RedisClient.builder().hostAndPort(new HostAndPort("127.0.0.1", port))
            .clientConfig(DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP3).build())
            .cacheConfig(CacheConfig.builder().maxSize(1000).build()).build();
        return new Library() {
            long total = 0;

            public String get(String key) {
                return client.get(key);
            }

            public long hits() {
                CacheStats now = client.getCache().getAndResetStats();
                return total += now.getHitCount();
            }

            /** While all answers come from its cache, Jedis does not notice that the connection has ended. */
            public void speak() {
                client.ping();
            }

            public void close() {
                client.close();
            }
        };
    }

    /**
     * Lettuce sends CLIENT TRACKING once: after a new connection was made, the program does it again. Until that
     * is answered it asks the server, and what was asked for by the connection before and read by this one is not kept.
     */
    static Library lettuce() {
        io.lettuce.core.RedisClient client = io.lettuce.core.RedisClient.create(RedisURI.builder()
            .withHost("127.0.0.1").withPort(port).withTimeout(Duration.ofSeconds(2)).build());
        Map<String, String> kept = new ConcurrentHashMap<>();
        StatefulRedisConnection<String, String> connection = client.connect();
        TrackingArgs tracking = TrackingArgs.Builder.enabled();
        // It fails to read the null of a flush, of Redis's servers too, and so keeps what it has.
        connection.addListener((PushMessage message) -> {
            if (message.getType().equals("invalidate") && message.getContent().get(1) == null) kept.clear();
        });
        CacheFrontend<String, String> cache =
            ClientSideCaching.enable(CacheAccessor.forMap(kept), connection, tracking);
        AtomicInteger connections = new AtomicInteger(1);
        AtomicBoolean isTracked = new AtomicBoolean(true);
        connection.addListener(new RedisConnectionStateListener() {
            @Override public void onRedisConnected(io.lettuce.core.RedisChannelHandler<?, ?> it, SocketAddress to) {
                connection.async().clientTracking(tracking).thenRun(() -> isTracked.set(true));
            }

            @Override public void onRedisDisconnected(io.lettuce.core.RedisChannelHandler<?, ?> it) {
                isTracked.set(false);
                connections.incrementAndGet();
                kept.clear();
            }
        });
        return new Library() {
            public String get(String key) {
                int before = connections.get();
                if (!isTracked.get()) return connection.sync().get(key);
                String value = cache.get(key);
                if (connections.get() != before) kept.remove(key);
                return value;
            }

            public long hits() {
                return -1;
            }

            public void speak() {
                // Lettuce notices it by itself.
            }

            public void close() {
                connection.close();
                client.shutdown();
            }
        };
    }

    static Jedis connect() {
        return new Jedis("127.0.0.1", port);
    }

    static long gets(Jedis other) {
        Matcher found = Pattern.compile("cmdstat_get:calls=(\\d+)").matcher(other.info("commandstats"));
        return found.find() ? Long.parseLong(found.group(1)) : 0;
    }

    static void ask(String what) throws IOException {
        System.out.println("ask " + what);
        if (!"done".equals(input.readLine())) throw new IOException("not done: " + what);
    }

    static void holds(boolean fact, Object what) {
        if (!fact) throw new AssertionError(what);
    }

    static void until(String what, Fact fact) throws Exception {
        for (long end = System.nanoTime() + 20_000_000_000L; System.nanoTime() < end;) {
            if (fact.holds()) return;
            TimeUnit.MILLISECONDS.sleep(2);
        }
        throw new AssertionError(what);
    }

    static void becomes(Library cached, String key, String value, String what) throws Exception {
        until(what, () -> Objects.equals(value, cached.get(key)));
    }

    static void step(String what, Step step) {
        try {
            step.run();
            System.out.println("ok - " + name + ": " + what);
        } catch (Throwable error) {
            failed = 1;
            System.out.println("not ok - " + name + ": " + what);
            System.out.println("  " + error);
        }
    }

    static void isAskedOnce(Library cached, Jedis other, String key) throws Exception {
        String value = cached.get(key);
        long before = gets(other);
        long hits = cached.hits();
        for (int i = 0; i < 100; i++) holds(Objects.equals(value, cached.get(key)), "another value");
        holds(gets(other) == before, "the server was asked: " + (gets(other) - before));
        holds(hits < 0 || cached.hits() == hits + 100, "hits: " + hits);
    }

    public static void main(String[] words) throws Exception {
        boolean isJedis = words[0].equals("jedis");
        port = Integer.parseInt(words[1]);
        name = (isJedis ? "Jedis" : "Lettuce") + "'s cache";
        Jedis other = connect();
        other.configSet("redis-version", "7.4.0");
        Library cached = isJedis ? jedis() : lettuce();
        step("asks the server once", () -> {
            other.set("city", "Paris");
            isAskedOnce(cached, other, "city");
        });
        step("is told of a write, a delete, an expiry and a flush", () -> {
            other.set("city", "Rome");
            becomes(cached, "city", "Rome", "the write is told");
            isAskedOnce(cached, other, "city");
            other.del("city");
            becomes(cached, "city", null, "the delete is told");
            other.set("city", "Oslo", SetParams.setParams().px(400));
            becomes(cached, "city", "Oslo", "it is there for a while");
            becomes(cached, "city", null, "the expiry is told");
            other.set("city", "Bern");
            becomes(cached, "city", "Bern", "the write is told");
            other.flushDB();
            becomes(cached, "city", null, "the flush is told");
        });
        step("is told of what a transaction writes", () -> {
            for (int i = 0; i < 50; i++) {
                other.set("n" + i, "old");
                becomes(cached, "n" + i, "old", "it is there");
            }
            try (redis.clients.jedis.Transaction all = other.multi()) {
                for (int i = 0; i < 50; i++) all.set("n" + i, "new");
                all.exec();
            }
            for (int i = 0; i < 50; i++) becomes(cached, "n" + i, "new", "n" + i + " is told");
        });
        step("has nothing old after kill -9 of the server", () -> {
            other.set("city", "Paris");
            becomes(cached, "city", "Paris", "the write is told");
            ask("kill");
            ask("start");
            try (Jedis again = connect()) {
                again.configSet("redis-version", "7.4.0");
                again.set("city", "Rome");
                until("it has connected anew", () -> {
                    try {
                        cached.speak();
                        return "Rome".equals(cached.get("city"));
                    } catch (RuntimeException error) {
                        return false;
                    }
                });
                // Lettuce is asked to keep nothing until CLIENT TRACKING is answered.
                until("it caches again", () -> {
                    long before = gets(again);
                    for (int i = 0; i < 10; i++) cached.get("city");
                    return gets(again) == before;
                });
                isAskedOnce(cached, again, "city");
                again.set("city", "Oslo");
                becomes(cached, "city", "Oslo", "it is told again");
            }
        });
        cached.close();
        System.exit(failed);
    }
}
