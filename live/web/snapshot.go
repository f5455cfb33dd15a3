package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"vidfilter/internal/site"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
)

// snapshot sends the latest picture as PNG, at full size, upright and with square pixels.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) {
	view, known := views[r.URL.Query().Get("view")]
	if !known {
		site.Refuse(w, http.StatusBadRequest, noView)
		return
	}
	pair := s.session.Latest()
	if pair == nil {
		site.Refuse(w, http.StatusNotFound, "there is no picture yet")
		return
	}
	defer pair.Release()
	left, right := view.of(pair)
	frames := map[preview.View][]*pipeline.Frame{
		preview.ViewOriginal: {left}, preview.ViewFiltered: {right}, preview.ViewSplit: {left, right},
	}[view.View]
	st, _ := s.session.State()
	stored := pipeline.Display{Aspect: st.Aspect} // the size before it is turned
	width, height := stored.Size(pair.Original.Width, pair.Original.Height)
	s.saving.Lock() // a large picture takes hundreds of megabytes
	b, err := preview.PNG(width, height, st.Turn, frames...)
	s.saving.Unlock()
	if err != nil {
		site.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="vidfilter-%s.png"`, time.Now().Format("20060102-150405")))
	_, _ = w.Write(b)
}
