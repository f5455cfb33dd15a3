package batchrun

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"vidfilter/batch"
	"vidfilter/internal/cli"
	"vidfilter/internal/netfile"
	"vidfilter/internal/text"
)

// checkPreviews refuses --previews without a report that has links.
func (o *BatchOptions) checkPreviews(plan *batch.Plan) error {
	if o.Previews && (plan.Store != "" || slices.ContainsFunc(plan.Items, func(i batch.Item) bool { return netfile.Is(i.Source) })) {
		return cli.Usagef("leave it out; vidfilter preview compares files", "--previews reads sources and outputs again, and some are at addresses")
	}
	if o.Previews && !strings.EqualFold(filepath.Ext(o.Report), ".html") {
		return cli.Usagef("--report FILE.html --previews", "--previews adds links to a report in HTML")
	}
	return nil
}

// previews writes a page for each output that compares it with its source, in a folder beside the
// report, and links it in the row. Pages newer than their output stay.
func (b *batchJob) previews(ctx context.Context, rows []batch.Row) {
	if !b.o.Previews {
		return
	}
	folder := strings.TrimSuffix(b.o.Report, filepath.Ext(b.o.Report)) + ".previews"
	program := programOf(b.o.Sandbox, b.s.Env, 1, 0)
	program.Service, program.Stall = nil, b.o.Stall // the command has a sandbox of its own
	var writing errgroup.Group
	writing.SetLimit(max(1, runtime.GOMAXPROCS(0)/2))
	for i := range rows {
		r := &rows[i]
		if r.After == 0 {
			continue
		}
		page := filepath.Join(folder, filepath.FromSlash(r.Output)+".html")
		link := (&url.URL{Path: "./" + filepath.ToSlash(filepath.Join(filepath.Base(folder), r.Output)+".html")}).String()
		output := batch.Item{Output: r.Output}.OutputPath(b.plan.Root)
		if newer(page, output) {
			r.Preview = link
			continue
		}
		writing.Go(func() error {
			rec, err := batch.ReadRecord(b.plan.Root, r.Output)
			if err == nil && rec != nil {
				err = os.MkdirAll(filepath.Dir(page), 0o777)
			}
			if err == nil && rec != nil {
				_, err = program.Output(ctx, append([]string{"preview", rec.Source, "--result=" + output, "--output=" + page, "-y", "-q", "--no-open"}, rec.Options...)...)
			}
			switch {
			case ctx.Err() != nil || rec == nil:
			case err != nil:
				b.screen.Warn("no preview of "+text.OneLine(r.Output), "error", err)
			default:
				r.Preview = link
			}
			return nil
		})
	}
	_ = writing.Wait() // errors are reported, and have no other effect
}

// newer reports whether a file is newer than another.
func newer(name, than string) bool {
	a, err := os.Stat(name)
	b, e := os.Stat(than)
	return err == nil && e == nil && a.ModTime().After(b.ModTime())
}
