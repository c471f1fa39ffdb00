import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisSentinelPool;
import redis.clients.jedis.util.Pool;

/**
 * Jedis or Lettuce, by Sentinel or through a node that stands by: goes on when the leader is killed.
 *
 * <p>usage: Sentinel (jedis or lettuce) [plain (port of a node)] (port of a Sentinel)...
 * Says `ready` when the leader may be killed; prints `ok - name` and `not ok - name` lines.
 */
public class Sentinel {
    interface Library {
        String set(String key, String value) throws Exception;

        String get(String key) throws Exception;

        long incr(String key) throws Exception;
    }

    static Library jedis(Set<String> sentinels, int node) {
        Pool<Jedis> pool = node != 0 ? new JedisPool("127.0.0.1", node) : new JedisSentinelPool("mymaster", sentinels);
        return new Library() {
            public String set(String key, String value) {
                try (Jedis jedis = pool.getResource()) {
                    return jedis.set(key, value);
                }
            }

            public String get(String key) {
                try (Jedis jedis = pool.getResource()) {
                    return jedis.get(key);
                }
            }

            public long incr(String key) {
                try (Jedis jedis = pool.getResource()) {
                    return jedis.incr(key);
                }
            }
        };
    }

    static Library lettuce(Set<String> sentinels, int node) {
        RedisURI.Builder uri = RedisURI.builder().withSentinelMasterId("mymaster").withTimeout(Duration.ofSeconds(2));
        for (String one : sentinels) uri.withSentinel("127.0.0.1", HostAndPort.from(one).getPort());
        RedisURI plain = RedisURI.builder().withHost("127.0.0.1").withPort(node).withTimeout(Duration.ofSeconds(2)).build();
        StatefulRedisConnection<String, String> leader = node != 0 ? RedisClient.create(plain).connect()
            : MasterReplica.connect(RedisClient.create(), StringCodec.UTF8, uri.build());
        return new Library() {
            public String set(String key, String value) {
                return leader.sync().set(key, value);
            }

            public String get(String key) {
                return leader.sync().get(key);
            }

            public long incr(String key) {
                return leader.sync().incr(key);
            }
        };
    }

    /** Of a Sentinel that answers. */
    static String leader(Set<String> sentinels) {
        for (String one : sentinels) {
            try (Jedis jedis = new Jedis(HostAndPort.from(one), DefaultJedisClientConfig.builder().build())) {
                return String.join(":", jedis.sentinelGetMasterAddrByName("mymaster"));
            } catch (RuntimeException error) {
                // That of the node that was killed.
            }
        }
        return "";
    }

    public static void main(String[] words) throws Exception {
        boolean isJedis = words[0].equals("jedis");
        String name = (isJedis ? "Jedis" : "Lettuce"), key = "by-" + words[0];
        int node = words[1].equals("plain") ? Integer.parseInt(words[2]) : 0;
        name += node != 0 ? " through a node: " : " by Sentinel: ";
        Set<String> sentinels = new HashSet<>();
        for (int n = node != 0 ? 3 : 1; n < words.length; n++) sentinels.add("127.0.0.1:" + words[n]);
        Library r = isJedis ? jedis(sentinels, node) : lettuce(sentinels, node);
        r.set(key, "0");
        check(name + "reads what it wrote", "0".equals(r.get(key)));
        String before = leader(sentinels);
        System.out.println("ready");
        long acknowledged = 0;
        boolean isElsewhere = false;
        for (long end = System.nanoTime() + 30_000_000_000L; System.nanoTime() < end && !isElsewhere;) {
            try {
                acknowledged = r.incr(key);
                String now = leader(sentinels);
                isElsewhere = !now.isEmpty() && !now.equals(before);
            } catch (RuntimeException error) {
                // It may have happened or not: the count below says.
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
        check(name + "another node is the leader", isElsewhere);
        long value = r.incr(key);
        check(name + "nothing acknowledged is lost (" + acknowledged + ", " + value + ")",
            value > acknowledged && acknowledged > 0);
        System.exit(0);
    }

    static void check(String name, boolean fact) {
        System.out.println((fact ? "ok - " : "not ok - ") + name);
    }
}
