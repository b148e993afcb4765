package apiserver

import (
	"net/http"
	"net/http/pprof"
)

// profilesPath is where upstream's API server has its profiles too; authorization is by that path,
// and requests below it may take long.
const profilesPath = "/debug/pprof"

// profiles answers what `go tool pprof` and kubectl get --raw ask for: where the center's memory
// and time go. The command line, which may name the password of a datastore, is not among it.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(profilesPath, pprof.Index)
	mux.HandleFunc(profilesPath+"/", pprof.Index)
	mux.HandleFunc(profilesPath+"/cmdline", http.NotFound)
	mux.HandleFunc(profilesPath+"/profile", pprof.Profile)
	mux.HandleFunc(profilesPath+"/symbol", pprof.Symbol)
	mux.HandleFunc(profilesPath+"/trace", pprof.Trace)
	return mux
}
