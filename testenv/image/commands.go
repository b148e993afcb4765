package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func pause([]string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	<-ctx.Done()
	return nil
}

func get(args []string) error {
	flags := flag.NewFlagSet("get", flag.ContinueOnError)
	times := flags.Int("n", 1, "attempts, 200 ms apart, until one is answered")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("want one URL")
	}
	client := http.Client{Timeout: 3 * time.Second}
	var err error
	for range *times {
		var response *http.Response
		response, err = client.Get(flags.Arg(0))
		if err == nil {
			defer response.Body.Close()
			_, err = io.Copy(os.Stdout, response.Body)
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

func lookup(args []string) error {
	if len(args) != 1 {
		return errors.New("want one name")
	}
	addresses, err := net.LookupHost(args[0])
	for _, a := range addresses {
		fmt.Println(a)
	}
	return err
}

// eat touches every page, so that the memory is resident.
func eat(args []string) error {
	flags := flag.NewFlagSet("eat", flag.ContinueOnError)
	mib := flags.Int("mib", 0, "MiB to use; 0 means without an end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var held [][]byte
	for i := 0; *mib == 0 || i < *mib; i++ {
		block := make([]byte, 1<<20)
		for at := 0; at < len(block); at += os.Getpagesize() {
			block[at] = 1
		}
		held = append(held, block)
	}
	fmt.Printf("holding %d MiB\n", len(held))
	return pause(nil)
}

// lines prints a log of a known length.
func lines(args []string) error {
	flags := flag.NewFlagSet("lines", flag.ContinueOnError)
	mib := flags.Int("mib", 1, "MiB to print")
	if err := flags.Parse(args); err != nil {
		return err
	}
	const line = 64 // bytes
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for i := range *mib << 20 / line {
		fmt.Fprintf(out, "%0*d\n", line-1, i)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return pause(nil)
}

// tick prints lines as they come, until nobody reads them.
func tick(args []string) error {
	flags := flag.NewFlagSet("tick", flag.ContinueOnError)
	every := flags.Duration("every", time.Second, "time between two lines")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if _, err := fmt.Println("tick", i); err != nil {
			return err
		}
		time.Sleep(*every)
	}
}

func cat(args []string) error {
	for _, name := range args {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		os.Stdout.Write(content)
	}
	return nil
}

func write(args []string) error {
	if len(args) != 2 {
		return errors.New("want FILE TEXT")
	}
	return replace(args[0], []byte(args[1]))
}

// replace puts a file in the place of another one, and returns when its content is on the disk. Who reads it meanwhile
// has the one or the other, also when the process ends in the middle.
func replace(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".write-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be gone
	}
	return err
}

func environ([]string) error {
	for _, v := range os.Environ() {
		fmt.Println(v)
	}
	return nil
}

func sleep(args []string) error {
	if len(args) != 1 {
		return errors.New("want a duration, as in 10s")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	time.Sleep(d)
	return nil
}
