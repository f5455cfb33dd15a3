// Package preview writes a page that compares frames of a video before and after filters. The page
// is one HTML file that needs no network.
package preview

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/jpeg"
	"io"
	"sync"
)

// Page is the content of a page.
type Page struct {
	Title    string
	Facts    []string  // about the video, a line each
	Variants []Variant // at least one
	Samples  []Sample  // at least one
}

// Variant is a set of options to compare.
type Variant struct {
	Label   string   // short, such as "strength 1.4"
	Command string   // to copy
	Facts   []string // such as the time that the whole video takes
}

// Sample is a frame. All its pictures have the same size.
type Sample struct {
	Label  string // such as "1:02.5, darkest"
	Facts  []string
	Before image.Image
	After  []image.Image // one for each variant
}

//go:embed page.html page.css page.js
var files embed.FS

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").ParseFS(files, "page.html"))
})

// MostBytes is the size that Write keeps a page below, if pictures of low quality suffice for that.
const MostBytes = 10_000_000

// qualities are tried in this order until the pictures fit.
var qualities = []int{95, 92, 88, 84, 78, 70, 60, 45, 30}

// Write writes a page. Its pictures are JPEGs of the best quality that fits.
func Write(w io.Writer, p Page) error {
	var coded [][]template.URL // of samples: before, then after
	for _, q := range qualities {
		size := 0
		coded = coded[:0]
		for _, s := range p.Samples {
			var urls []template.URL
			for _, m := range append([]image.Image{s.Before}, s.After...) {
				u, err := dataURL(m, q)
				if err != nil {
					return err
				}
				size += len(u)
				urls = append(urls, u)
			}
			coded = append(coded, urls)
		}
		if size < MostBytes*97/100 {
			break
		}
	}
	css, err := files.ReadFile("page.css")
	if err != nil {
		return err
	}
	js, err := files.ReadFile("page.js")
	if err != nil {
		return err
	}
	type sample struct {
		Sample
		Width, Height int
		First         template.URL
		Others        []template.URL
	}
	var samples []sample
	for i, s := range p.Samples {
		size := s.Before.Bounds()
		samples = append(samples, sample{s, size.Dx(), size.Dy(), coded[i][0], coded[i][1:]})
	}
	return page().Execute(w, struct {
		Page
		Samples []sample
		CSS     template.CSS
		JS      template.JS
	}{p, samples, template.CSS(css), template.JS(js)})
}

func dataURL(m image.Image, quality int) (template.URL, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		return "", fmt.Errorf("code a picture: %w", err)
	}
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}
