package web

import (
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"vidfilter/internal/site"
	"vidfilter/live/access"
)

//go:embed *.html *.js *.css *.svg
var files embed.FS

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	names, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // embedded above
	}
	for _, f := range names {
		at := "/" + f.Name()
		if f.Name() == "page.html" {
			at = "/{$}"
		}
		mux.Handle("GET "+at, file(f.Name()))
	}
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /ws", s.socket)
	mux.Handle("GET /mjpeg", s.known(access.View, true, http.HandlerFunc(s.mjpeg)))
	mux.Handle("GET /stream.ts", s.known(access.View, true, http.HandlerFunc(s.ts)))
	mux.Handle("GET /snapshot", s.known(access.View, false, http.HandlerFunc(s.snapshot)))
	mux.Handle("GET /job", s.known(access.Control, false, http.HandlerFunc(s.exportJob))) // it has the input's path
	mux.Handle("POST /job", s.known(access.Control, false, http.HandlerFunc(s.importJob)))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
	})
	for _, x := range s.more {
		mux.Handle(x.path, s.known(x.needs, false, x.handler))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		site.Refuse(w, http.StatusNotFound, "there is nothing under this path")
	})
	return mux
}

func file(name string) http.HandlerFunc {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded above
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" { // the system's MIME table is unreliable
		kind = "text/javascript; charset=utf-8"
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(b)
	}
}
