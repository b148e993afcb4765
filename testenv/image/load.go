package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// answers counts what requests have come to.
type answers struct {
	mu    sync.Mutex
	asked int
	lost  int
	slow  time.Duration
	pods  map[string]int
}

// load asks a URL again and again, each time by a connection of its own, and tells of each request that is lost as it
// happens. At the end it prints how many were asked and lost, and who answered, and waits for SIGTERM.
func load(args []string) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	rate := flags.Int("rate", 50, "requests a second")
	long := flags.Duration("for", time.Minute, "how long to ask")
	patience := flags.Duration("timeout", 5*time.Second, "how long an answer may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *rate < 1 {
		return errors.New("want one URL, and a rate from 1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *long)
	defer cancel()
	client := &http.Client{Timeout: *patience, Transport: &http.Transport{DisableKeepAlives: true}}
	a := &answers{pods: map[string]int{}}
	var open sync.WaitGroup
	began, tick := time.Now(), time.NewTicker(time.Second/time.Duration(*rate))
	defer tick.Stop()
	for ctx.Err() == nil {
		open.Go(func() { a.add(began, client, flags.Arg(0)) })
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	open.Wait()
	fmt.Printf("asked %d, lost %d, slowest %s\n", a.asked, a.lost, a.slow.Round(time.Millisecond))
	for _, pod := range slices.Sorted(maps.Keys(a.pods)) {
		fmt.Printf("answered by %s: %d\n", pod, a.pods[pod])
	}
	return pause(nil)
}

func (a *answers) add(began time.Time, client *http.Client, url string) {
	asked := time.Now()
	pod, err := who(client, url)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	a.slow = max(a.slow, time.Since(asked))
	if err != nil {
		a.lost++
		fmt.Printf("lost at %s after %s: %v\n", asked.Sub(began).Round(time.Millisecond),
			time.Since(asked).Round(time.Millisecond), err)
		return
	}
	if a.pods[pod]++; a.pods[pod] == 1 {
		fmt.Printf("answered by %s first at %s\n", pod, asked.Sub(began).Round(time.Millisecond))
	}
}

// who asks once, and returns the first line of the answer: the pod.
func who(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", errors.New(response.Status)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	return strings.TrimSpace(line), err
}
