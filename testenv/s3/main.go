// Command s3 is an S3 server on loopback, with its objects in memory, for tests of backups. It
// refuses requests that are not signed with its access key; it does not check the signature.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "HOST:PORT")
	bucket := flag.String("bucket", "backups", "a bucket that is there")
	key := flag.String("access-key", "skerry", "the access key id that is accepted")
	flag.Parse()
	objects := s3mem.New()
	if err := objects.CreateBucket(*bucket); err != nil {
		log.Fatal(err)
	}
	server := gofakes3.New(objects).Server()
	log.Printf("serving %s on %s", *bucket, *listen)
	log.Fatal(http.ListenAndServe(*listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+*key+"/") {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>`)
			return
		}
		log.Printf("%s %s", r.Method, r.URL)
		server.ServeHTTP(w, r)
	})))
}
