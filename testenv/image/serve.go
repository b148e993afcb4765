package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// serve answers GET with who and where it is, one "key: value" a line, and the
// content of a file; PUT replaces that file. It speaks HTTP/1.1, and HTTP/2 without
// TLS; the header Protocol says which. POD_NAME, POD_NAMESPACE, NODE_NAME
// and VERSION come from the environment, where the pod's manifest puts them.
func serve(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := flags.String("listen", ":8080", "address to serve HTTP on")
	file := flags.String("file", "", "file whose content is part of the answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Addr: *listen, Handler: handler(*file), ReadHeaderTimeout: 5 * time.Second,
		Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	}()
	log.Printf("listening on %s", *listen)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handler(file string) http.Handler {
	host, _ := os.Hostname()
	pod := env("POD_NAME", host)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		log.Printf("%s %s from %s", r.Method, r.URL.Path, r.RemoteAddr)
		w.Header().Set("Protocol", r.Proto)
		fmt.Fprintf(w, "pod: %s\nnamespace: %s\nnode: %s\nversion: %s\n",
			pod, env("POD_NAMESPACE", "unknown"), env("NODE_NAME", "unknown"), env("VERSION", "unknown"))
		if file == "" {
			return
		}
		content, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintf(w, "file: %v\n", err)
			return
		}
		fmt.Fprintf(w, "file: %s\n", content)
	})
	mux.HandleFunc("PUT /", func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err == nil && file == "" {
			err = errors.New("no -file was given")
		}
		if err == nil {
			err = replace(file, content)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return mux
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}
