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
	"math"
	"slices"
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

// fits are ways to code pictures, best first: the quality of JPEGs, the part of the width and
// height that is shown, and about how the size compares with the first. Coarser JPEGs would hide
// the noise.
var fits = []struct {
	quality    int
	part, size float64
}{{95, 1, 1}, {91, 1, 0.7}, {86, 1, 0.52}, {80, 1, 0.41}, {73, 1, 0.34}, {73, 0.7, 0.17}, {73, 0.5, 0.085}, {73, 0.35, 0.042}, {73, 0.25, 0.021}, {73, 0.15, 0.008}}

// Write writes a page. Its pictures are JPEGs of the best quality that fits; or the middle of large
// ones.
func Write(w io.Writer, p Page) error { return write(w, p, MostBytes) }

func write(w io.Writer, p Page, most int) error {
	var coded [][]template.HTMLAttr // of samples: before, then after
	samples := p.Samples
	for i := 0; i < len(fits); i++ {
		samples = middles(p.Samples, fits[i].part)
		var size int
		var part float64
		var err error
		limit := most * 97 / 100
		if i == len(fits)-1 {
			limit = math.MaxInt
		}
		if coded, size, part, err = codeAll(samples, fits[i].quality, limit); err != nil {
			return err
		}
		if part == 1 {
			break
		}
		for expected := float64(size) / part / fits[i].size; i < len(fits)-2 && expected*fits[i+1].size > float64(limit); i++ {
		}
	}
	if b, whole := samples[0].Before.Bounds(), p.Samples[0].Before.Bounds(); b != whole {
		p.Facts = append(slices.Clone(p.Facts), fmt.Sprintf("The middle of the frames, %dx%d, is shown, so that the page stays small.", b.Dx(), b.Dy()))
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
		First         template.HTMLAttr
		Others        []template.HTMLAttr
	}
	var shown []sample
	for i, s := range samples {
		size := s.Before.Bounds()
		shown = append(shown, sample{s, size.Dx(), size.Dy(), coded[i][0], coded[i][1:]})
	}
	return page().Execute(w, struct {
		Page
		Samples []sample
		CSS     template.CSS
		JS      template.JS
	}{p, shown, template.CSS(css), template.JS(js)})
}

// codeAll codes the pictures of samples. It stops when they take more than a limit, having coded a
// part.
func codeAll(samples []Sample, quality, limit int) (coded [][]template.HTMLAttr, size int, part float64, err error) {
	for i, s := range samples {
		var sources []template.HTMLAttr
		for k, m := range append([]image.Image{s.Before}, s.After...) {
			u, err := source(m, quality)
			if err != nil {
				return nil, 0, 0, err
			}
			sources = append(sources, u)
			if size += len(u); size > limit {
				each := float64(len(s.After) + 1)
				return nil, size, (float64(i) + float64(k+1)/each) / float64(len(samples)), nil
			}
		}
		coded = append(coded, sources)
	}
	return coded, size, 1, nil
}

// middles returns samples with a part of the width and height of their pictures.
func middles(samples []Sample, part float64) (all []Sample) {
	if part == 1 {
		return samples
	}
	middle := func(m image.Image) image.Image {
		b := m.Bounds()
		w, h := int(part*float64(b.Dx())), int(part*float64(b.Dy()))
		x, y := b.Min.X+(b.Dx()-w)/2, b.Min.Y+(b.Dy()-h)/2
		return m.(interface {
			SubImage(image.Rectangle) image.Image
		}).SubImage(image.Rect(x, y, x+w, y+h))
	}
	for _, s := range samples {
		s.Before = middle(s.Before)
		s.After = slices.Clone(s.After)
		for i, m := range s.After {
			s.After[i] = middle(m)
		}
		all = append(all, s)
	}
	return all
}

// source returns the attribute that holds a picture, as the page has it.
func source(m image.Image, quality int) (template.HTMLAttr, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		return "", fmt.Errorf("code a picture: %w", err)
	}
	return template.HTMLAttr(`src="data:image/jpeg;base64,` + base64.StdEncoding.EncodeToString(b.Bytes()) + `"`), nil
}
