// go-redis by TLS, as a user with limited rights (tls.sh).
//
// usage: tls <port> <CA> <another CA> <protocol: 2, 3 or default> <suffix of the test names>
// Prints `ok - name` and `not ok - name` lines.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var port, ca, otherCA, protocol, suffix = os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
var ctx, _ = context.WithTimeout(context.Background(), 50*time.Second)

func connect(password, authority string) *redis.Client {
	pem, err := os.ReadFile(authority)
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	options := &redis.Options{
		Addr:       "localhost:" + port,
		Username:   "app",
		Password:   password,
		TLSConfig:  &tls.Config{RootCAs: roots},
		MaxRetries: -1,
	}
	if protocol != "default" {
		options.Protocol, _ = strconv.Atoi(protocol)
	}
	return redis.NewClient(options)
}

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

// The error of a reply, and by go-redis's own question of what kind it is.
func refused(is func(error) bool, err error) {
	var reply redis.Error
	holds(errors.As(err, &reply) && is(err), "not refused, or otherwise: ", err)
}

func isWhoHeSays(r *redis.Client) {
	pong, err := r.Ping(ctx).Result()
	must(err)
	holds(pong == "PONG", pong)
	user, err := r.Do(ctx, "ACL", "WHOAMI").Text()
	must(err)
	holds(user == "app", user)
	info, err := r.Do(ctx, "CLIENT", "INFO").Text()
	must(err)
	wanted := " resp=3 "
	if protocol == "2" {
		wanted = " resp=2 "
	}
	holds(strings.Contains(info, wanted) && strings.Contains(info, " user=app "), info)
}

func setsAndGets(r *redis.Client) {
	must(r.Set(ctx, "app:plain", "text", 0).Err())
	text, err := r.Get(ctx, "app:plain").Result()
	must(err)
	holds(text == "text", text)
	stamp, err := r.Do(ctx, "KV.SET", `["app",1]`, `{"n":1}`).Text()
	must(err)
	found, err := r.Do(ctx, "KV.GET", `["app",1]`, "WITHVERSION").StringSlice()
	must(err)
	holds(len(found) == 2 && found[0] == `{"n":1}` && found[1] == stamp, found)
}

func texts(done []redis.Cmder, err error) []string {
	must(err)
	all := []string{}
	for _, one := range done {
		text, err := one.(*redis.Cmd).Text()
		must(err)
		all = append(all, text)
	}
	return all
}

func pipelinesAThousand(r *redis.Client) {
	stamps := texts(r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n := range 1000 {
			pipe.Do(ctx, "KV.SET", fmt.Sprintf(`["app","pipe",%d]`, n), n)
		}
		return nil
	}))
	different := map[string]bool{}
	for _, stamp := range stamps {
		different[stamp] = true
	}
	holds(len(different) == 1000 && sort.StringsAreSorted(stamps), "stamps: ", len(different))
	values := texts(r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n := range 1000 {
			pipe.Do(ctx, "KV.GET", fmt.Sprintf(`["app","pipe",%d]`, n))
		}
		return nil
	}))
	for n := range 1000 {
		holds(values[n] == strconv.Itoa(n), n, values[n])
	}
}

func hasTransactions(r *redis.Client) {
	done := texts(r.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Do(ctx, "SET", "app:a", "1")
		pipe.Do(ctx, "KV.SET", `["app","b"]`, 2)
		pipe.Do(ctx, "GET", "app:a")
		return nil
	}))
	holds(done[0] == "OK" && len(done[1]) == 20 && done[2] == "1", done)
}

func publishesAndHears(r *redis.Client) {
	listener := r.Subscribe(ctx, "app:news")
	defer listener.Close()
	_, err := listener.Receive(ctx)
	must(err)
	heard, err := r.Publish(ctx, "app:news", "hello").Result()
	must(err)
	holds(heard == 1, heard)
	message, err := listener.ReceiveMessage(ctx)
	must(err)
	holds(message.Payload == "hello", message)
	refused(redis.IsPermissionError, r.Publish(ctx, "news", "hello").Err())
	other := r.Subscribe(ctx, "news")
	defer other.Close()
	_, err = other.Receive(ctx)
	refused(redis.IsPermissionError, err)
}

func mayNotUseWhatIsNotHis(r *redis.Client) {
	denied := redis.IsPermissionError
	refused(denied, r.Get(ctx, "other").Err())
	refused(denied, r.Do(ctx, "KV.SET", `["other",1]`, 1).Err())
	refused(denied, r.Do(ctx, "KV.ATOMIC", "SET", `["app",1]`, 1, "DEL", `["other"]`).Err())
	refused(denied, r.ConfigGet(ctx, "*").Err())
	must(r.Ping(ctx).Err())
}

func needsHisPassword(*redis.Client) {
	r := connect("wrong", ca)
	defer r.Close()
	refused(redis.IsAuthError, r.Ping(ctx).Err())
}

func refusesAServerOfAnotherAuthority(*redis.Client) {
	r := connect("secret", otherCA)
	defer r.Close()
	var unknown x509.UnknownAuthorityError
	err := r.Ping(ctx).Err()
	holds(errors.As(err, &unknown), "not refused, or otherwise: ", err)
}

// What the pool says of dials that fail, as they are meant to.
type nothing struct{}

func (nothing) Printf(context.Context, string, ...any) {}

func main() {
	redis.SetLogger(nothing{})
	failed := 0
	r := connect("secret", ca)
	defer r.Close()
	for _, test := range []struct {
		name string
		run  func(*redis.Client)
	}{
		{"is who he says", isWhoHeSays},
		{"sets and gets", setsAndGets},
		{"pipelines a thousand", pipelinesAThousand},
		{"has transactions", hasTransactions},
		{"publishes and hears", publishesAndHears},
		{"may not use what is not his", mayNotUseWhatIsNotHis},
		{"needs his password", needsHisPassword},
		{"refuses a server of another authority", refusesAServerOfAnotherAuthority},
	} {
		func() {
			name := fmt.Sprintf("go-redis by TLS %s (%s)", test.name, suffix)
			defer func() {
				if why := recover(); why != nil {
					failed = 1
					fmt.Printf("not ok - %s\n  %v\n", name, why)
				} else {
					fmt.Printf("ok - %s\n", name)
				}
			}()
			test.run(r)
		}()
	}
	os.Exit(failed)
}
