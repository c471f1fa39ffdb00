// Empty jobs with asynq, as jobs.py has them.
//
// usage: jobs <enqueue | work> <jobs> <port>
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
)

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	server := asynq.RedisClientOpt{Addr: "127.0.0.1:" + os.Args[3]}
	if os.Args[1] == "enqueue" {
		client := asynq.NewClient(server)
		begin := time.Now()
		for number := 0; number < count; number++ {
			if _, err := client.Enqueue(asynq.NewTask("job", []byte(strconv.Itoa(number)))); err != nil {
				panic(err)
			}
		}
		rate(count, time.Since(begin))
		return
	}
	done := 0
	var began time.Time
	work := func(context.Context, *asynq.Task) error {
		if done == 0 {
			began = time.Now()
		}
		if done++; done == count {
			rate(count-1, time.Since(began))
			os.Exit(0)
		}
		return nil
	}
	config := asynq.Config{Concurrency: 1, LogLevel: asynq.FatalLevel}
	if err := asynq.NewServer(server, config).Run(asynq.HandlerFunc(work)); err != nil {
		panic(err)
	}
}

func rate(jobs int, in time.Duration) {
	fmt.Printf("%.0f\n", float64(jobs)/in.Seconds())
}
