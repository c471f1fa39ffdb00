// go-redis by Sentinel: finds the leader, goes on when it is killed.
//
// usage: sentinel <port of a Sentinel>...
// Says `ready` when the leader may be killed; prints `ok - name` and `not ok - name` lines.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func check(name string, fact bool) {
	word := "ok"
	if !fact {
		word = "not ok"
	}
	fmt.Printf("%s - go-redis by Sentinel: %s\n", word, name)
}

func main() {
	addresses := []string{}
	for _, port := range os.Args[1:] {
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	leader := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: addresses,
		ReadTimeout: 2 * time.Second, MaxRetries: -1})
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: addresses[1]})
	address := func() string {
		words, err := sentinel.GetMasterAddrByName(ctx, "mymaster").Result()
		if err != nil || len(words) != 2 {
			return ""
		}
		return words[0] + ":" + words[1]
	}
	key := "by-go-redis"
	err := leader.Set(ctx, key, 0, 0).Err()
	text, _ := leader.Get(ctx, key).Result()
	check("reads what it wrote", err == nil && text == "0")
	before, after := address(), ""
	sentinel.Close()
	fmt.Println("ready")
	acknowledged := int64(0)
	failures := 0
	// Another leads when it answers after it did not.
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		n, err := leader.Incr(ctx, key).Result()
		if err != nil {
			failures++
			continue
		}
		acknowledged = n
		if failures > 0 {
			break
		}
	}
	for _, one := range addresses {
		sentinel = redis.NewSentinelClient(&redis.Options{Addr: one, MaxRetries: -1})
		if now := address(); now != "" {
			after = now
		}
		sentinel.Close()
	}
	check(fmt.Sprintf("another node leads (%s, %s)", before, after), failures > 0 && after != before && after != "")
	value, err := leader.Incr(ctx, key).Result()
	check(fmt.Sprintf("nothing acknowledged is lost (%d, %d)", acknowledged, value),
		err == nil && value > acknowledged && acknowledged > 0)
}
