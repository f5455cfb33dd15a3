package status

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/queue"
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

// apart puts jobs that stand still at the end.
var apart = map[bool]int{true: 1}

type pageData struct {
	Version string
	// see queue.Unserved
	Unserved string
	Locked   bool // hides all until the token is given
	Whole    whole
	History  History
	Jobs     []tally.Job
	More     int
}

func (s *server) page(w http.ResponseWriter, r *http.Request) {
	d := pageData{Version: s.o.Version, Unserved: queue.Unserved, Locked: s.o.Private}
	if !d.Locked {
		d.Whole = s.whole(viewer)
		s.mu.Lock()
		d.Jobs, d.History = s.t.Jobs(time.Now(), nil), s.history.view(time.Now())
		s.mu.Unlock()
		d.Jobs = s.seen(d.Jobs[:min(len(d.Jobs), defaultLimit)])
		slices.SortStableFunc(d.Jobs, func(a, b tally.Job) int { return cmp.Compare(apart[a.Alone], apart[b.Alone]) })
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
	About   string `json:"about"` // owner, age, size
	Percent string `json:"percent"`
	Facts   string `json:"facts"`
	Why     string `json:"why"`   // the reason of its end, or why it does not progress
	Where   string `json:"where"` // its tasks and their workers
}

func wordsOf(j tally.Job) words {
	about := ""
	if j.User != "" {
		about = "of " + j.User
	}
	if j.Submitted != nil {
		about = text.List(about, j.Submitted.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if j.Stored > 0 {
		about = text.List(about, text.Size(j.Stored)+" in the store")
	}
	return words{
		text.OneLine(j.Name()), text.OneLine(about), percent(j.Part), j.Facts(), text.OneLine(cmp.Or(j.Reason, j.Waits, j.Note())), text.OneLine(j.Where()),
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
