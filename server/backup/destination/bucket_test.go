package destination

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// objects is a small S3 server: one bucket, "bucket". The scenarios have a whole one.
type objects struct {
	mu     sync.Mutex
	all    map[string][]byte
	refuse func(r *http.Request) (status int, code string)
	cut    bool // a write loses its last byte
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse != nil {
		if status, code := o.refuse(r); status != 0 {
			fail(w, status, code)
			return
		}
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	body, there := o.all[key]
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=id/"):
		fail(w, http.StatusForbidden, "AccessDenied")
	case bucket != "bucket":
		fail(w, http.StatusNotFound, "NoSuchBucket")
	case key == "":
		o.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut:
		o.put(w, r, key)
	case r.Method == http.MethodDelete:
		delete(o.all, key)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		fail(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("Last-Modified", t0.UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"e"`)
		http.ServeContent(w, r, "", t0, strings.NewReader(string(body)))
	}
}

func (o *objects) put(w http.ResponseWriter, r *http.Request, key string) {
	body, err := io.ReadAll(r.Body)
	sum := md5.Sum(body)
	if err != nil || r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]) {
		fail(w, http.StatusBadRequest, "BadDigest")
		return
	}
	if o.cut {
		body = body[1:]
	}
	o.all[key] = body
	w.Header().Set("ETag", `"e"`)
}

func (o *objects) list(w io.Writer, prefix string) {
	type object struct {
		Key          string
		Size         int
		LastModified string
	}
	var result struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	for _, key := range slices.Sorted(maps.Keys(o.all)) {
		if strings.HasPrefix(key, prefix) {
			result.Contents = append(result.Contents, object{key, len(o.all[key]), "2026-11-25T02:30:00.000Z"})
		}
	}
	_ = xml.NewEncoder(w).Encode(result)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>it is so</Message></Error>", code)
}

// serve starts a server and returns how a center reaches it.
func serve(t *testing.T) (*objects, S3) {
	t.Helper()
	for _, v := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_PROFILE"} {
		t.Setenv(v, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	o := &objects{all: map[string][]byte{}}
	server := httptest.NewTLSServer(o) // over plain HTTP each piece of a body is signed
	t.Cleanup(server.Close)
	file, ca := filepath.Join(t.TempDir(), "credentials"), filepath.Join(t.TempDir(), "ca.pem")
	pem := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := errors.Join(os.WriteFile(ca, pem, 0o600), os.WriteFile(file,
		[]byte("[default]\naws_access_key_id = id\naws_secret_access_key = secret\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return o, S3{Endpoint: server.URL, CredentialsFile: file, CAFile: ca}
}

func TestBucket(t *testing.T) {
	for _, prefix := range []string{"", "center/a"} {
		o, s3 := serve(t)
		conformance(t, strings.TrimSuffix("s3://bucket/"+prefix, "/"), s3, func(name string) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.all[strings.TrimPrefix(prefix+"/"+name, "/")] = nil
			o.all[strings.TrimPrefix(prefix+"/deeper/", "/")+at("aa", 0).String()] = nil
			o.all["elsewhere/"+at("aa", 0).String()] = nil
		})
	}
}

// Each refusal is told with its cause and the next step.
func TestBucketInWords(t *testing.T) {
	o, s3 := serve(t)
	for code, want := range map[string]string{
		"AccessDenied 403": rights, "InvalidAccessKeyId 403": "correct them", "RequestTimeTooSkewed 403": "clock",
		"NoSuchBucket 404": "create it", "PermanentRedirect 301": "--s3-region", "XMinioStorageFull 507": "is full",
		"Unknown 507": "is full", "Odd 418": "418 Odd", "SignatureDoesNotMatch 403": "does not accept",
	} {
		var status int
		var name string
		if _, err := fmt.Sscanf(code, "%s %d", &name, &status); err != nil {
			t.Fatal(err)
		}
		o.mu.Lock()
		o.refuse = func(*http.Request) (int, string) { return status, name }
		o.mu.Unlock()
		d, err := Open("s3://bucket/x", s3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.List(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("list, %s: %v", code, err)
		}
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.Put(t.Context(), at("aa", 1), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("put, %s: %v", code, err)
		}
	}
}

func TestBucketIsAway(t *testing.T) {
	_, s3 := serve(t)
	for endpoint, want := range map[string]string{"http://127.0.0.1:1": "cannot be reached", "http://nosuch.invalid:9": "resolve"} {
		s3.Endpoint = endpoint
		d, err := Open("s3://bucket/x", s3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.List(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

func TestWhatTheServerLostIsFound(t *testing.T) {
	o, s3 := serve(t)
	o.cut = true
	d, err := Open("s3://bucket/x", s3)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), at("aa", 1), file); err == nil || !strings.Contains(err.Error(), "3 bytes after a write of 4") {
		t.Error(err)
	}
}

// Without credentials nothing is asked: a bucket may be open to the public.
func TestNoCredentials(t *testing.T) {
	o, s3 := serve(t)
	o.refuse = func(r *http.Request) (int, string) { t.Error("asked: ", r.URL); return 0, "" }
	for _, file := range []string{"", filepath.Join(t.TempDir(), "missing")} {
		s3.CredentialsFile = file
		d, err := Open("s3://bucket/x", s3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.List(t.Context()); err == nil || !strings.Contains(err.Error(), "/etc/skerry/credentials/s3") {
			t.Errorf("credentials %q: %v", file, err)
		}
	}
	o.refuse = nil
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s3.CredentialsFile = ""
	d, err := Open("s3://bucket/x", s3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.List(t.Context()); err != nil {
		t.Errorf("with credentials of the environment: %v", err)
	}
}
