import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Jedis or Lettuce by TLS, as a user with limited rights (tls.sh).
 *
 * <p>usage: Tls (jedis or lettuce) (port) (CA) (another CA) (protocol: 2, 3 or default) (suffix of the test names)
 * Prints `ok - name` and `not ok - name` lines.
 */
public class Tls {
    static int port;
    static String ca, otherCa, protocol;

    /** What differs between the libraries. A command is its words; what it is answered is flat text. */
    interface Library extends AutoCloseable {
        Object call(String... words) throws Exception;

        List<Object> pipeline(List<String[]> commands) throws Exception;

        List<Object> transaction(List<String[]> commands) throws Exception;

        /** One message of the channel, which it sends itself by the other connection. */
        String hear(String channel, Library sender) throws Exception;

        /** Fails unless the error is what the library has for this code. */
        void isRefusal(String code, Throwable error);

        /** Fails unless the error is that of a certificate. */
        void isDistrust(Throwable error);

        void close();
    }

    static Library connect(String library, String password, String authority) throws Exception {
        return library.equals("jedis") ? new OfJedis(password, authority) : new OfLettuce(password, authority);
    }

    static void holds(boolean fact, Object what) {
        if (!fact) throw new AssertionError(what);
    }

    static boolean isCausedBySsl(Throwable error) {
        for (; error != null; error = error.getCause()) if (error instanceof SSLException) return true;
        return false;
    }

    static class OfJedis implements Library {
        final Jedis jedis;

        OfJedis(String password, String authority) throws Exception {
            DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .user("app").password(password).timeoutMillis(20000)
                .sslOptions(redis.clients.jedis.SslOptions.builder()
                    .truststore(truststore(authority), "changeit".toCharArray()).build());
            if (!protocol.equals("default")) {
                config.protocol(protocol.equals("2") ? RedisProtocol.RESP2 : RedisProtocol.RESP3);
            }
            jedis = new Jedis("localhost", port, config.build());
            jedis.connect();
        }

        /** A file as `keytool -importcert` makes it. */
        static File truststore(String authority) throws Exception {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            try (InputStream in = new FileInputStream(authority)) {
                store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
            }
            File file = new File(authority + ".jks");
            try (OutputStream out = new FileOutputStream(file)) {
                store.store(out, "changeit".toCharArray());
            }
            return file;
        }

        static Object text(Object reply) {
            if (reply instanceof RuntimeException error) throw error;
            if (reply instanceof byte[] bytes) return new String(bytes, StandardCharsets.UTF_8);
            if (reply instanceof List<?> list) return list.stream().map(OfJedis::text).toList();
            return reply;
        }

        static String[] rest(String[] words) {
            return Arrays.copyOfRange(words, 1, words.length);
        }

        static redis.clients.jedis.commands.ProtocolCommand named(String[] words) {
            return () -> words[0].getBytes(StandardCharsets.UTF_8);
        }

        public Object call(String... words) {
            return text(jedis.sendCommand(named(words), rest(words)));
        }

        public List<Object> pipeline(List<String[]> commands) {
            Pipeline pipe = jedis.pipelined();
            List<Response<Object>> replies = new ArrayList<>();
            for (String[] words : commands) replies.add(pipe.sendCommand(named(words), rest(words)));
            pipe.sync();
            return replies.stream().map(reply -> text(reply.get())).toList();
        }

        public List<Object> transaction(List<String[]> commands) {
            try (Transaction transaction = jedis.multi()) {
                for (String[] words : commands) transaction.sendCommand(named(words), rest(words));
                return transaction.exec().stream().map(OfJedis::text).toList();
            }
        }

        public String hear(String channel, Library sender) throws Exception {
            CompletableFuture<String> heard = new CompletableFuture<>();
            // Blocks until it has unsubscribed.
            jedis.subscribe(new JedisPubSub() {
                @Override public void onSubscribe(String name, int count) {
                    try {
                        sender.call("PUBLISH", channel, "hello");
                    } catch (Exception error) {
                        heard.completeExceptionally(error);
                    }
                }

                @Override public void onMessage(String name, String message) {
                    heard.complete(message);
                    unsubscribe();
                }
            }, channel);
            return heard.get(20, TimeUnit.SECONDS);
        }

        public void isRefusal(String code, Throwable error) {
            holds(error.getClass() == JedisAccessControlException.class
                && error.getMessage().startsWith(code + " "), error);
        }

        public void isDistrust(Throwable error) {
            holds(error instanceof JedisConnectionException && isCausedBySsl(error), error);
        }

        public void close() {
            jedis.close();
        }
    }

    static class OfLettuce implements Library {
        final RedisClient client;
        final StatefulRedisConnection<String, String> connection;

        OfLettuce(String password, String authority) {
            client = RedisClient.create(RedisURI.builder().withHost("localhost").withPort(port).withSsl(true)
                .withAuthentication("app", password.toCharArray()).withTimeout(Duration.ofSeconds(20)).build());
            ClientOptions.Builder options = ClientOptions.builder().autoReconnect(false)
                .sslOptions(SslOptions.builder().trustManager(new File(authority)).build());
            if (!protocol.equals("default")) {
                options.protocolVersion(protocol.equals("2") ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3);
            }
            client.setOptions(options.build());
            try {
                connection = client.connect();
            } catch (RuntimeException error) {
                close();
                throw error;
            }
        }

        RedisFuture<List<Object>> send(String... words) {
            ProtocolKeyword name = new ProtocolKeyword() {
                @Override public byte[] getBytes() {
                    return words[0].getBytes(StandardCharsets.UTF_8);
                }

                @Override public String toString() {
                    return words[0];
                }
            };
            CommandArgs<String, String> rest = new CommandArgs<>(StringCodec.UTF8);
            for (String word : Arrays.asList(words).subList(1, words.length)) rest.add(word);
            return connection.async().dispatch(name, new NestedMultiOutput<>(StringCodec.UTF8), rest);
        }

        // A list is what NestedMultiOutput makes of a single reply too.
        static Object single(Object reply) {
            return reply instanceof List<?> list && list.size() == 1 ? list.get(0) : reply;
        }

        static <T> T wait(RedisFuture<T> future) throws Exception {
            try {
                return future.get(20, TimeUnit.SECONDS);
            } catch (java.util.concurrent.ExecutionException error) {
                throw (Exception) error.getCause();
            }
        }

        public Object call(String... words) throws Exception {
            return single(wait(send(words)));
        }

        public List<Object> pipeline(List<String[]> commands) throws Exception {
            List<RedisFuture<List<Object>>> replies = new ArrayList<>();
            connection.setAutoFlushCommands(false);
            for (String[] words : commands) replies.add(send(words));
            connection.flushCommands();
            connection.setAutoFlushCommands(true);
            List<Object> all = new ArrayList<>();
            for (RedisFuture<List<Object>> reply : replies) all.add(single(wait(reply)));
            return all;
        }

        public List<Object> transaction(List<String[]> commands) throws Exception {
            connection.sync().multi();
            for (String[] words : commands) send(words);
            return connection.sync().exec().stream().map(OfLettuce::single).toList();
        }

        public String hear(String channel, Library sender) throws Exception {
            CompletableFuture<String> heard = new CompletableFuture<>();
            try (StatefulRedisPubSubConnection<String, String> listener = client.connectPubSub()) {
                listener.addListener(new RedisPubSubAdapter<String, String>() {
                    @Override public void message(String name, String message) {
                        heard.complete(message);
                    }
                });
                listener.sync().subscribe(channel);
                sender.call("PUBLISH", channel, "hello");
                return heard.get(20, TimeUnit.SECONDS);
            }
        }

        public void isRefusal(String code, Throwable error) {
            // What makes a connection fail is the cause of another one.
            if (error instanceof RedisConnectionException) error = error.getCause();
            holds(error.getClass() == RedisCommandExecutionException.class
                && error.getMessage().startsWith(code + " "), error);
        }

        public void isDistrust(Throwable error) {
            holds(error instanceof RedisConnectionException && isCausedBySsl(error), error);
        }

        public void close() {
            client.shutdown(0, 10, TimeUnit.SECONDS);
        }
    }

    interface Action {
        Object run() throws Exception;
    }

    static Throwable failure(Action action) {
        Object reply;
        try {
            reply = action.run();
        } catch (Exception error) {
            return error;
        }
        throw new AssertionError("not refused: " + reply);
    }

    interface Test {
        void run(Library r) throws Exception;
    }

    static void isWhoHeSays(Library r) throws Exception {
        holds("PONG".equals(r.call("PING")), "PING");
        holds("app".equals(r.call("ACL", "WHOAMI")), "ACL WHOAMI");
        String info = (String) r.call("CLIENT", "INFO");
        // Jedis of itself goes on in RESP2.
        boolean isOld = protocol.equals("2") || (protocol.equals("default") && r instanceof OfJedis);
        holds(info.contains(" user=app ") && info.contains(isOld ? " resp=2 " : " resp=3 "), info);
    }

    static void setsAndGets(Library r) throws Exception {
        holds("OK".equals(r.call("SET", "app:plain", "text")), "SET");
        holds("text".equals(r.call("GET", "app:plain")), "GET");
        Object stamp = r.call("KV.SET", "[\"app\",1]", "{\"n\":1}");
        Object found = r.call("KV.GET", "[\"app\",1]", "WITHVERSION");
        holds(found.equals(List.of("{\"n\":1}", stamp)), found);
    }

    static void pipelinesAThousand(Library r) throws Exception {
        List<String[]> set = new ArrayList<>(), get = new ArrayList<>();
        List<String> wanted = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            String key = "[\"app\",\"pipe\"," + n + "]";
            set.add(new String[] {"KV.SET", key, "" + n});
            get.add(new String[] {"KV.GET", key});
            wanted.add("" + n);
        }
        List<String> stamps = r.pipeline(set).stream().map(Object::toString).toList();
        holds(new HashSet<>(stamps).size() == 1000 && stamps.stream().sorted().toList().equals(stamps), stamps);
        holds(r.pipeline(get).equals(wanted), "what was set");
    }

    static void hasTransactions(Library r) throws Exception {
        List<Object> done = r.transaction(List.of(new String[] {"SET", "app:a", "1"},
            new String[] {"KV.SET", "[\"app\",\"b\"]", "2"}, new String[] {"GET", "app:a"}));
        holds(done.get(0).equals("OK") && ((String) done.get(1)).length() == 20 && done.get(2).equals("1"), done);
    }

    static void mayNotUseWhatIsNotHis(Library r) throws Exception {
        r.isRefusal("NOPERM", failure(() -> r.call("GET", "other")));
        r.isRefusal("NOPERM", failure(() -> r.call("KV.SET", "[\"other\",1]", "1")));
        r.isRefusal("NOPERM",
            failure(() -> r.call("KV.ATOMIC", "SET", "[\"app\",1]", "1", "DEL", "[\"other\"]")));
        r.isRefusal("NOPERM", failure(() -> r.call("CONFIG", "GET", "*")));
        r.isRefusal("NOPERM", failure(() -> r.call("PUBLISH", "news", "hello")));
        holds("PONG".equals(r.call("PING")), "PING");
    }

    static int failed = 0;

    static void test(String name, String suffix, Library r, Test test) {
        try {
            test.run(r);
            System.out.println("ok - " + name + " (" + suffix + ")");
        } catch (Throwable error) {
            failed = 1;
            System.out.println("not ok - " + name + " (" + suffix + ")");
            error.printStackTrace(System.out);
        }
    }

    public static void main(String[] words) throws Exception {
        String library = words[0], name = (library.equals("jedis") ? "Jedis" : "Lettuce") + " by TLS ";
        port = Integer.parseInt(words[1]);
        ca = words[2];
        otherCa = words[3];
        protocol = words[4];
        String suffix = words[5];
        Library r = connect(library, "secret", ca);
        test(name + "is who he says", suffix, r, Tls::isWhoHeSays);
        test(name + "sets and gets", suffix, r, Tls::setsAndGets);
        test(name + "pipelines a thousand", suffix, r, Tls::pipelinesAThousand);
        test(name + "has transactions", suffix, r, Tls::hasTransactions);
        test(name + "publishes and hears", suffix, r, it -> {
            try (Library listener = connect(library, "secret", ca)) {
                holds("hello".equals(listener.hear("app:news", it)), "the message");
            }
            try (Library listener = connect(library, "secret", ca)) {
                listener.isRefusal("NOPERM", failure(() -> listener.hear("news", it)));
            }
        });
        test(name + "may not use what is not his", suffix, r, Tls::mayNotUseWhatIsNotHis);
        test(name + "needs his password", suffix, r,
            it -> it.isRefusal("WRONGPASS", failure(() -> connect(library, "wrong", ca))));
        test(name + "refuses a server of another authority", suffix, r,
            it -> it.isDistrust(failure(() -> connect(library, "secret", otherCa))));
        r.close();
        System.exit(failed);
    }
}
