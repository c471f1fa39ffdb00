// asynq: 1,000 tasks by worker processes; the server and a worker are killed with -9 meanwhile. A task whose worker died
// is done again when its lease has ended, which takes asynq up to a minute and a half.
//
// usage: jobs <port> <directory for what workers have done>
// Prints `ok - name` and `not ok - name` lines, and asks for the server's death and start (connect.sh). It is its own
// worker: it starts itself with one more word.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

const (
	tasks          = 1000
	killAfter      = 200
	mostBeforeKill = 300 // of one worker, so that there is always work left
)

var (
	port      = os.Args[1]
	directory = os.Args[2]
	server    = asynq.RedisClientOpt{Addr: "127.0.0.1:" + port, DialTimeout: 5 * time.Second}
	input     = bufio.NewReader(os.Stdin)
	failed    = 0
	workers   = []*exec.Cmd{}
)

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

func until(what string, limit time.Duration, fact func() bool) {
	for end := time.Now().Add(limit); !fact(); time.Sleep(20 * time.Millisecond) {
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
			fmt.Printf("not ok - asynq: %s\n  %v\n", what, why)
		} else {
			fmt.Printf("ok - asynq: %s\n", what)
		}
	}()
	run()
}

// ---- workers ----

var killed = filepath.Join(directory, "killed")

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The lines of one worker, which no kill of the server loses.
func work(name string) {
	file, err := os.OpenFile(filepath.Join(directory, name+".lines"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(err)
	var lock sync.Mutex
	count := 0
	done := func(id string) {
		lock.Lock()
		defer lock.Unlock()
		_, err := fmt.Fprintln(file, id)
		must(err)
		for count++; count >= mostBeforeKill && !exists(killed); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	handlers := asynq.NewServeMux()
	handlers.HandleFunc("job", func(_ context.Context, t *asynq.Task) error {
		done(string(t.Payload()))
		return nil
	})
	handlers.HandleFunc("fails", func(c context.Context, t *asynq.Task) error {
		if tried, _ := asynq.GetRetryCount(c); tried < 2 {
			return errors.New("not yet")
		}
		done(string(t.Payload()))
		return nil
	})
	must(asynq.NewServer(server, asynq.Config{
		Concurrency:              5,
		LogLevel:                 asynq.FatalLevel,
		DelayedTaskCheckInterval: 200 * time.Millisecond,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 100 * time.Millisecond },
	}).Run(handlers))
}

func startWorker(name string) *exec.Cmd {
	worker := exec.Command(os.Args[0], port, directory, name)
	must(worker.Start())
	workers = append(workers, worker)
	return worker
}

// How many different tasks are done.
func doneTasks() int {
	files, err := filepath.Glob(filepath.Join(directory, "*.lines"))
	must(err)
	ids := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		for _, id := range strings.Fields(string(text)) {
			ids[id] = true
		}
	}
	return len(ids)
}

// ---- the test ----

// Again, with the same id, when the connection broke.
func enqueue(client *asynq.Client, kind, id string, options ...asynq.Option) {
	options = append(options, asynq.TaskID(id), asynq.MaxRetry(20))
	until("it is enqueued", time.Minute, func() bool {
		_, err := client.Enqueue(asynq.NewTask(kind, []byte(id)), options...)
		return err == nil || errors.Is(err, asynq.ErrTaskIDConflict)
	})
}

func isQuiet(inspector *asynq.Inspector) bool {
	q, err := inspector.GetQueueInfo("default")
	return err == nil && q.Pending+q.Active+q.Scheduled+q.Retry+q.Archived == 0
}

func steps(client *asynq.Client, inspector *asynq.Inspector) {
	step("1,000 tasks are enqueued", func() {
		for n := range tasks {
			enqueue(client, "job", strconv.Itoa(n))
		}
		q, err := inspector.GetQueueInfo("default")
		must(err)
		holds(q.Pending == tasks, q.Pending, " are pending")
	})
	step("the server and a worker are killed with -9 while workers work", func() {
		startWorker("first")
		dies := startWorker("dies")
		until("some are done", time.Minute, func() bool { return doneTasks() >= killAfter })
		ask("kill")
		must(dies.Process.Kill())
		must(os.WriteFile(killed, nil, 0o600))
		holds(doneTasks() < tasks, "no work is left")
		ask("start")
		startWorker("second")
	})
	step("each task was done, and nothing is left", func() {
		until("all are done", 5*time.Minute, func() bool { return doneTasks() == tasks })
		until("the queue is empty", 5*time.Minute, func() bool { return isQuiet(inspector) })
	})
	step("one that fails is tried again; one that is delayed comes, also after kill -9; an id is taken once", func() {
		enqueue(client, "fails", "fails")
		enqueue(client, "job", "later", asynq.ProcessIn(2*time.Second))
		_, err := client.Enqueue(asynq.NewTask("job", nil), asynq.TaskID("later"))
		holds(errors.Is(err, asynq.ErrTaskIDConflict), err)
		ask("kill")
		ask("start")
		until("both are done", 5*time.Minute, func() bool { return doneTasks() == tasks+2 })
		until("the queue is empty", 5*time.Minute, func() bool { return isQuiet(inspector) })
	})
}

func main() {
	if len(os.Args) > 3 {
		work(os.Args[3])
		return
	}
	defer func() {
		for _, worker := range workers {
			_ = worker.Process.Kill()
		}
		os.Exit(failed)
	}()
	client, inspector := asynq.NewClient(server), asynq.NewInspector(server)
	defer client.Close()
	defer inspector.Close()
	steps(client, inspector)
}
