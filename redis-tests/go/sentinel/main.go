// go-redis by Sentinel, or through a node that stands by: goes on when the leader is killed.
//
// usage: sentinel [plain <port of a node>] <port of a Sentinel>...
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
var how = "by Sentinel"

func check(name string, fact bool) {
	word := "ok"
	if !fact {
		word = "not ok"
	}
	fmt.Printf("%s - go-redis %s: %s\n", word, how, name)
}

func main() {
	addresses := []string{}
	ports, node := os.Args[1:], ""
	if ports[0] == "plain" {
		how, node, ports = "through a node", "127.0.0.1:"+ports[1], ports[2:]
	}
	for _, port := range ports {
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	leader := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: addresses,
		ReadTimeout: 2 * time.Second, MaxRetries: -1})
	if node != "" {
		leader = redis.NewClient(&redis.Options{Addr: node, ReadTimeout: 2 * time.Second, MaxRetries: -1})
	}
	address := func() string {
		for _, one := range addresses {
			sentinel := redis.NewSentinelClient(&redis.Options{Addr: one, MaxRetries: -1})
			words, err := sentinel.GetMasterAddrByName(ctx, "mymaster").Result()
			sentinel.Close()
			if err == nil && len(words) == 2 {
				return words[0] + ":" + words[1]
			}
		}
		return ""
	}
	key := "by-go-redis " + how
	err := leader.Set(ctx, key, 0, 0).Err()
	text, _ := leader.Get(ctx, key).Result()
	check("reads what it wrote", err == nil && text == "0")
	before := address()
	after := before
	fmt.Println("ready")
	acknowledged := int64(0)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && after == before; time.Sleep(5 * time.Millisecond) {
		n, err := leader.Incr(ctx, key).Result()
		if err == nil { // else it may have happened or not: the count below says
			acknowledged = n
			if now := address(); now != "" {
				after = now
			}
		}
	}
	check("another node is the leader", before != "" && after != "" && after != before)
	value, err := leader.Incr(ctx, key).Result()
	check(fmt.Sprintf("nothing acknowledged is lost (%d, %d)", acknowledged, value),
		err == nil && value > acknowledged && acknowledged > 0)
}
