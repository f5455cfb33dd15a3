package status

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/tally"
	"vidfilter/internal/site"
	"vidfilter/internal/text"
)

// The page's elements are in page.html and app.js, which must agree.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Funcs(template.FuncMap{
		"clean": text.OneLine, "words": wordsOf,
		"join": func(s []string) string { return text.OneLine(strings.Join(s, ", ")) },
	}).ParseFS(files, "page.html"))
})

type pageData struct {
	Version string
	Locked  bool // hides all until the token is given
	Whole   whole
	Jobs    []tally.Job
	More    int
}

func (s *server) page(w http.ResponseWriter, r *http.Request) {
	d := pageData{Version: s.o.Version, Locked: s.o.Private}
	if !d.Locked {
		d.Whole = s.whole()
		s.mu.Lock()
		d.Jobs = s.t.Jobs(time.Now(), nil)
		s.mu.Unlock()
		d.Jobs = d.Jobs[:min(len(d.Jobs), defaultLimit)]
		d.More = max(0, d.Whole.Totals.Jobs-d.Whole.Totals.Waiting-len(d.Jobs))
	}
	var b bytes.Buffer
	if err := page().Execute(&b, d); err != nil {
		site.Refuse(w, http.StatusInternalServerError, "the page cannot be written: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// words describe a job or the whole on the page.
type words struct {
	Name    string `json:"name"`
	Percent string `json:"percent"`
	Facts   string `json:"facts"`
	Why     string `json:"why"`   // the reason of its end, or why it does not progress
	Where   string `json:"where"` // its tasks and their workers
}

func wordsOf(j tally.Job) words {
	var at []string
	for _, a := range j.Active {
		at = append(at, a.Task+": "+a.Worker)
	}
	return words{
		text.OneLine(j.Name()), percent(j.Part), j.Facts(), text.OneLine(cmp.Or(j.Reason, j.Note())), text.OneLine(strings.Join(at, ", ")),
	}
}

func wordsOfAll(t tally.Totals) words {
	return words{Percent: percent(t.Part), Facts: t.Summary() + ", " + text.Size(t.Bytes) + " written"}
}

func percent(part *float64) string {
	if part == nil {
		return ""
	}
	return text.Percent(*part)
}
