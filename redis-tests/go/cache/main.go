// rueidis's cache: what was read is answered without the server until it has changed.
//
// usage: cache <port>
// Prints `ok - name` and `not ok - name` lines, and asks for the server's death and start (connect.sh).
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

var ctx = context.Background()
var address = "127.0.0.1:" + os.Args[1]
var input = bufio.NewReader(os.Stdin)
var failed = 0
var name = ""

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func holds(fact bool, what ...any) {
	if !fact {
		panic(fmt.Sprint(what...))
	}
}

func until(what string, fact func() bool) {
	for end := time.Now().Add(20 * time.Second); !fact(); time.Sleep(2 * time.Millisecond) {
		holds(time.Now().Before(end), what)
	}
}

func ask(what string) {
	fmt.Println("ask", what)
	line, err := input.ReadString('\n')
	must(err)
	holds(line == "done\n", line)
}

func step(what string, run func()) {
	defer func() {
		if why := recover(); why != nil {
			failed = 1
			fmt.Printf("not ok - %s: %s\n  %v\n", name, what, why)
		} else {
			fmt.Printf("ok - %s: %s\n", name, what)
		}
	}()
	run()
}

func connect(change func(*rueidis.ClientOption)) rueidis.Client {
	options := rueidis.ClientOption{InitAddress: []string{address}}
	change(&options)
	client, err := rueidis.NewClient(options)
	must(err)
	return client
}

// Another connection, which has no cache.
func plain() rueidis.Client {
	return connect(func(o *rueidis.ClientOption) { o.DisableCache = true })
}

func do(r rueidis.Client, words ...string) {
	must(r.Do(ctx, r.B().Arbitrary(words...).Build()).Error())
}

func get(r rueidis.Client, key string) (value string, isHit bool, err error) {
	result := r.DoCache(ctx, r.B().Get().Key(key).Cache(), time.Hour)
	value, err = result.ToString()
	if rueidis.IsRedisNil(err) {
		return "nothing", result.IsCacheHit(), nil
	}
	return value, result.IsCacheHit(), err
}

func becomes(r rueidis.Client, key, wanted, what string) {
	until(what, func() bool {
		value, _, err := get(r, key)
		must(err)
		return value == wanted
	})
}

var calls = regexp.MustCompile(`cmdstat_m?get:calls=(\d+)`)

// How often the server was asked for a key.
func gets(r rueidis.Client) int {
	info, err := r.Do(ctx, r.B().Info().Section("commandstats").Build()).ToString()
	must(err)
	sum := 0
	for _, found := range calls.FindAllStringSubmatch(info, -1) {
		n, _ := strconv.Atoi(found[1])
		sum += n
	}
	return sum
}

func isAskedOnce(cached, other rueidis.Client, key string) {
	wanted, _, err := get(cached, key)
	must(err)
	before := gets(other)
	for range 100 {
		value, isHit, err := get(cached, key)
		must(err)
		holds(value == wanted && isHit, value, isHit)
	}
	holds(gets(other) == before, "the server was asked")
}

func steps(cached, other rueidis.Client) {
	step("asks the server once", func() {
		do(other, "SET", "city", "Paris")
		becomes(cached, "city", "Paris", "it is there")
		isAskedOnce(cached, other, "city")
	})
	step("is told of a write, a delete, an expiry and a flush", func() {
		do(other, "SET", "city", "Rome")
		becomes(cached, "city", "Rome", "the write is told")
		isAskedOnce(cached, other, "city")
		do(other, "DEL", "city")
		becomes(cached, "city", "nothing", "the delete is told")
		do(other, "SET", "city", "Oslo", "PX", "400")
		becomes(cached, "city", "Oslo", "it is there for a while")
		becomes(cached, "city", "nothing", "it is gone")
		do(other, "SET", "city", "Bern")
		becomes(cached, "city", "Bern", "the write is told")
		do(other, "FLUSHDB")
		becomes(cached, "city", "nothing", "the flush is told")
	})
	step("many keys at once", func() {
		keys := []string{}
		for n := range 50 {
			keys = append(keys, "n"+strconv.Itoa(n))
		}
		read := func() map[string]string {
			found, err := rueidis.MGetCache(cached, ctx, time.Hour, keys)
			must(err)
			values := map[string]string{}
			for key, message := range found {
				values[key], _ = message.ToString()
			}
			return values
		}
		for _, value := range []string{"old", "new"} {
			all := other.B().Arbitrary("MSET")
			for _, key := range keys {
				all = all.Args(key, value)
			}
			must(other.Do(ctx, all.Build()).Error())
			until("all are told", func() bool {
				for _, found := range read() {
					if found != value {
						return false
					}
				}
				return true
			})
		}
		before := gets(other)
		read()
		holds(gets(other) == before, "the server was asked")
	})
	step("has nothing old after kill -9 of the server", func() {
		do(other, "SET", "city", "Paris")
		becomes(cached, "city", "Paris", "the write is told")
		ask("kill")
		ask("start")
		again := plain()
		defer again.Close()
		do(again, "SET", "city", "Rome")
		until("it has connected anew", func() bool {
			value, _, err := get(cached, "city")
			return err == nil && value == "Rome"
		})
		isAskedOnce(cached, again, "city")
		do(again, "SET", "city", "Oslo")
		becomes(cached, "city", "Oslo", "it is told again")
	})
}

func main() {
	for _, way := range []struct {
		name   string
		change func(*rueidis.ClientOption)
	}{
		{"rueidis's cache", func(o *rueidis.ClientOption) {}},
		{"rueidis's cache by prefix", func(o *rueidis.ClientOption) {
			o.ClientTrackingOptions = []string{"PREFIX", "city", "PREFIX", "n", "BCAST"}
		}},
	} {
		name = way.name
		other := plain()
		cached := connect(way.change)
		steps(cached, other)
		cached.Close()
		other.Close()
	}
	os.Exit(failed)
}
