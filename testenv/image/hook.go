package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// hook serves the webhooks of an API server over HTTPS: /validate refuses a
// ConfigMap with a key "refuse", and what has an annotation "refuse"; /mutate labels what comes, /convert converts
// between versions v1, which has spec.text, and v2, which has spec.words. The
// others misbehave: /slow, /huge, /redirect.
func hook(args []string) error {
	flags := flag.NewFlagSet("hook", flag.ContinueOnError)
	listen := flags.String("listen", ":8443", "address to serve HTTPS on")
	dir := flags.String("certificate", "/certificate", "directory with tls.crt and tls.key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Addr: *listen, Handler: hooks(), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	}()
	log.Printf("listening on %s", *listen)
	err := server.ListenAndServeTLS(filepath.Join(*dir, "tls.crt"), filepath.Join(*dir, "tls.key"))
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// review is what an AdmissionReview and a ConversionReview have in common with
// what they ask for.
type review struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Request    *reviewRequest `json:"request,omitempty"`
	Response   map[string]any `json:"response,omitempty"`
}

type reviewRequest struct {
	UID               string           `json:"uid"`
	Object            map[string]any   `json:"object"`
	DesiredAPIVersion string           `json:"desiredAPIVersion"`
	Objects           []map[string]any `json:"objects"`
}

func hooks() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]func(*reviewRequest) map[string]any{
		"/validate": validate, "/networking/v1/ingresses": validateIngress, "/mutate": mutate, "/convert": convert,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var asked review
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Request == nil {
				http.Error(w, "no review", http.StatusBadRequest)
				return
			}
			log.Printf("%s of %d objects from %s", path, max(1, len(asked.Request.Objects)), r.RemoteAddr)
			said := answer(asked.Request)
			said["uid"] = asked.Request.UID
			_ = json.NewEncoder(w).Encode(review{APIVersion: asked.APIVersion, Kind: asked.Kind, Response: said})
		})
	}
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		for block := []byte(strings.Repeat(" ", 1<<16)); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	mux.Handle("/redirect", http.RedirectHandler("https://kubernetes.default.svc/", http.StatusFound))
	return mux
}

func validate(r *reviewRequest) map[string]any {
	metadata, _ := r.Object["metadata"].(map[string]any)
	for _, says := range []any{r.Object["data"], metadata["annotations"]} {
		fields, _ := says.(map[string]any)
		if why, refused := fields["refuse"]; refused {
			return map[string]any{"allowed": false, "status": map[string]any{"message": fmt.Sprint(
				env("POD_NAME", "the hook"), " refuses: ", why,
			)}}
		}
	}
	return map[string]any{"allowed": true}
}

// validateIngress refuses Ingresses with the snippet of a configuration.
func validateIngress(r *reviewRequest) map[string]any {
	metadata, _ := r.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, found := annotations["nginx.ingress.kubernetes.io/server-snippet"]; found {
		return map[string]any{"allowed": false, "status": map[string]any{"message": "snippets are disabled"}}
	}
	return map[string]any{"allowed": true}
}

func mutate(r *reviewRequest) map[string]any {
	metadata, _ := r.Object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	labels["asked"] = env("NODE_NAME", "the-hook")
	patch, _ := json.Marshal([]any{map[string]any{"op": "add", "path": "/metadata/labels", "value": labels}})
	return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": patch}
}

func convert(r *reviewRequest) map[string]any {
	from, to := "text", "words"
	if strings.HasSuffix(r.DesiredAPIVersion, "/v1") {
		from, to = to, from
	}
	for _, o := range r.Objects {
		o["apiVersion"] = r.DesiredAPIVersion
		if spec, ok := o["spec"].(map[string]any); ok && spec[from] != nil {
			spec[to] = spec[from]
			delete(spec, from)
		}
	}
	return map[string]any{"result": map[string]any{"status": "Success"}, "convertedObjects": r.Objects}
}
