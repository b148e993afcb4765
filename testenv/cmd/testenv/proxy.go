package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"
)

// proxyCommand is an HTTP proxy for scenarios: it knows CONNECT and one user. With --to it is no
// proxy but a way of TCP to one address: UDP does not pass.
func proxyCommand() *cli.Command {
	return &cli.Command{
		Name:      "proxy",
		Usage:     "an HTTP proxy that lets one user connect anywhere",
		ArgsUsage: "--listen HOST:PORT [--user NAME:PASSWORD | --to HOST:PORT]",
		Hidden:    true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Required: true, Usage: "`HOST:PORT`"},
			&cli.StringFlag{Name: "user", Usage: "`NAME:PASSWORD` that it asks for"},
			&cli.StringFlag{Name: "to", Usage: "`HOST:PORT` that every connection is carried to"},
		},
		Action: func(c *cli.Context) error {
			if to := c.String("to"); to != "" {
				return forward(c.Context, c.String("listen"), to)
			}
			server := &http.Server{Addr: c.String("listen"), Handler: connectProxy(c.String("user")),
				ReadHeaderTimeout: 5 * time.Second}
			go func() {
				<-c.Context.Done()
				server.Close()
			}()
			if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
}

func connectProxy(user string) http.Handler {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodConnect:
			http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		case user != "" && r.Header.Get("Proxy-Authorization") != want:
			w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		default:
			through(w, r.Host)
		}
	})
}

// through joins the two connections until either ends.
func through(w http.ResponseWriter, to string) {
	out, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close()
	in, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	if _, err := io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	join(in, buffered, out)
}

// join carries bytes both ways until either side ends.
func join(in io.Writer, from io.Reader, out net.Conn) {
	ended := make(chan struct{}, 2)
	carry := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go carry(out, from)
	go carry(in, out)
	<-ended
}

// forward carries every connection to one address until ctx ends.
func forward(ctx context.Context, listen, to string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		in, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		go func() {
			defer in.Close()
			out, err := net.DialTimeout("tcp", to, 5*time.Second)
			if err != nil {
				return
			}
			defer out.Close()
			join(in, in, out)
		}()
	}
}
