//go:build !nolibav

// Package graph runs graphs of FFmpeg's filters as stages of a pipeline.
package graph

//#cgo pkg-config: libavfilter libavutil
//#include <stdlib.h>
//#include <libavutil/avstring.h>
//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

// ErrGraph is wrapped by every error of a graph that cannot be used, at all or for a video.
var ErrGraph = contract.NewClass(contract.ExitUsage, "graph not understood")

// The limits of a graph. FFmpeg has no limit, and some of its filters make frames without an end.
const (
	mostText    = 8 << 10 // bytes
	mostFilters = 64
	mostAdded   = 100_000 // frames that tpad adds, and results of a single frame
	mostRate    = 1000    // frames a second
	mostTime    = 1e10    // seconds
)

const example = `for example "bwdif=1", or "scale=1280:-2:flags=lanczos,cas=0.3"`

// Check judges a graph in FFmpeg's syntax: whether its filters exist, may be used and take their
// options, and whether they lead from one video to one. It opens no file. Faults that depend on the
// frames, such as a crop larger than the picture, are found at the first of them. Its errors wrap
// ErrGraph and quote the filter that is wrong, with FFmpeg's reason.
func Check(text string) error {
	p, err := parse(text, Options{Threads: 1})
	if err != nil {
		return err
	}
	p.free()
	return nil
}

// parsed is a graph whose filters exist and are linked with each other, apart from its two ends.
type parsed struct {
	text    string
	name    string // of the option that it is from, for errors; may be empty
	trial   bool
	graph   *C.AVFilterGraph
	segment *C.AVFilterGraphSegment
	filters []*C.AVFilterContext // in the order of the text

	in, out       *C.AVFilterContext // the filters at the ends
	inPad, outPad C.uint

	keeps int  // frames that the filters may keep back
	local bool // a picture's result depends on that picture alone
}

func (p *parsed) free() {
	C.avfilter_graph_segment_free(&p.segment)
	C.avfilter_graph_free(&p.graph)
}

// parse reads a graph.
func parse(text string, o Options) (*parsed, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, hint.Says("the graph is empty", example, ErrGraph)
	case len(text) > mostText:
		return nil, hint.Says(fmt.Sprintf("the graph has %d bytes; at most %d are read", len(text), mostText), "make it shorter", ErrGraph)
	case strings.ContainsRune(text, 0):
		return nil, hint.Says("the graph has a zero byte", example, ErrGraph)
	}
	p := &parsed{text: text, name: o.Name, trial: o.Trial, graph: C.avfilter_graph_alloc()}
	if p.graph == nil {
		return nil, errors.New("graph: out of memory")
	}
	p.graph.nb_threads = C.int(o.Threads)
	if err := p.read(); err != nil {
		p.free()
		return nil, err
	}
	return p, nil
}

// read makes the filters of the text, and links them.
func (p *parsed) read() error {
	if err := p.split(); err != nil {
		return err
	}
	if err := p.checkNames(); err != nil {
		return err
	}
	if err := p.try(-1, func() C.int { return C.avfilter_graph_segment_create_filters(p.segment, 0) }); err != nil {
		return err
	}
	for params := range p.params() {
		p.filters = append(p.filters, params.filter)
	}
	if err := p.configure(); err != nil {
		return err
	}
	return p.link()
}

// split has FFmpeg split the text into filters.
func (p *parsed) split() error {
	err := p.try(-1, func() (code C.int) {
		p.segment, code = segmentOf(p.graph, p.text)
		return code
	})
	if err != nil {
		return cmp.Or(p.splitWrong(), err)
	}
	n := 0
	for range p.params() {
		n++
	}
	if n > mostFilters {
		return hint.Says(fmt.Sprintf("the graph has %d filters; it may have %d", n, mostFilters), "make it shorter", ErrGraph)
	}
	return nil
}

// splitWrong returns the fault of the first filter that FFmpeg cannot read by itself, or nil.
// FFmpeg cannot read options without names of filters that it lacks.
func (p *parsed) splitWrong() error {
	for n, at := range places(p.text) {
		part := p.text[at.from:at.to]
		c := C.CString(part)
		defer C.free(unsafe.Pointer(c))
		end, stops := c, C.CString("=,;[")
		defer C.free(unsafe.Pointer(stops))
		token := C.av_get_token(&end, stops)
		name, _, _ := strings.Cut(C.GoString(token), "@")
		C.av_free(unsafe.Pointer(token))
		if name == "sws_flags" {
			return nil // FFmpeg's own reason is about this
		}
		if why, advice := checkName(name); why != "" && !strings.HasPrefix(part, "[") {
			return p.wrong(n, why, advice)
		}
		err := p.try(n, func() C.int {
			alone, code := segmentOf(p.graph, part)
			C.avfilter_graph_segment_free(&alone)
			return code
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func segmentOf(graph *C.AVFilterGraph, text string) (s *C.AVFilterGraphSegment, code C.int) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	code = C.avfilter_graph_segment_parse(graph, c, 0, &s)
	return s, code
}

// params yields the parameters of each filter that FFmpeg has read.
func (p *parsed) params() func(yield func(*C.AVFilterParams) bool) {
	return func(yield func(*C.AVFilterParams) bool) {
		for _, chain := range av.Slice(p.segment.chains, int(p.segment.nb_chains)) {
			for _, params := range av.Slice(chain.filters, int(chain.nb_filters)) {
				if !yield(params) {
					return
				}
			}
		}
	}
}

// checkNames refuses filters that this build lacks, or that may not be used.
func (p *parsed) checkNames() error {
	n := 0
	for params := range p.params() {
		if why, advice := checkName(C.GoString(params.filter_name)); why != "" {
			return p.wrong(n, why, advice)
		}
		n++
	}
	return nil
}

// checkName returns why a filter may not be used, or "", and a remedy.
func checkName(name string) (why, advice string) {
	if _, ok := known[name]; ok {
		return "", ""
	}
	if name == "" {
		return "the name of a filter is missing", "separate filters by one comma"
	}
	for _, pattern := range slices.Sorted(maps.Keys(refused)) {
		if ok, _ := path.Match(pattern, name); ok {
			return fmt.Sprintf("the filter %s is not available here: %s", name, refused[pattern]), "leave it out, or use ffmpeg itself before or after"
		}
	}
	names := slices.Sorted(maps.Keys(known))
	advice = "these are available: " + strings.Join(names, " ")
	if near := text.Closest(name, names); near != "" {
		advice = fmt.Sprintf("did you mean %s?", near)
	}
	return fmt.Sprintf("there is no filter %q", text.Cut(name, 60)), advice
}

// configure gives the filters their options.
func (p *parsed) configure() error {
	p.local = true
	n := 0
	for params := range p.params() {
		f, about := params.filter, known[C.GoString(params.filter.filter.name)]
		p.local = p.local && about.local && !moving(params.opts)
		if err := p.try(n, func() C.int { return C.av_opt_set_dict2(unsafe.Pointer(f), &params.opts, C.AV_OPT_SEARCH_CHILDREN) }); err != nil {
			return err
		}
		if e := C.av_dict_iterate(params.opts, nil); e != nil {
			return p.lacks(n, f, C.GoString(e.key))
		}
		if err := p.checkOptions(n, f, about); err != nil {
			return err
		}
		if p.trial && f.filter.flags&C.AVFILTER_FLAG_SUPPORT_TIMELINE != 0 && !about.needed {
			C.vf_graph_switch_off(f)
		}
		if err := p.try(n, func() C.int { return C.avfilter_init_dict(f, nil) }); err != nil {
			return err
		}
		p.keeps += about.keeps
		if about.per != "" {
			p.keeps += about.times * int(number(f, about.per))
		}
		n++
	}
	return nil
}

// changing is found in expressions whose value is not the same for each frame.
var changing = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(n|t|pts|pos|random|randomi|st|ld|time)\b`) })

// moving reports whether options have an expression whose value may change from frame to frame.
func moving(options *C.AVDictionary) bool {
	for e := C.av_dict_iterate(options, nil); e != nil; e = C.av_dict_iterate(options, e) {
		if changing().MatchString(C.GoString(e.value)) {
			return true
		}
	}
	return false
}

func (p *parsed) lacks(n int, f *C.AVFilterContext, option string) error {
	var names []string
	for o := C.av_opt_next(f.priv, nil); f.filter.priv_class != nil && o != nil; o = C.av_opt_next(f.priv, o) {
		if o._type != C.AV_OPT_TYPE_CONST {
			names = append(names, C.GoString(o.name))
		}
	}
	name := C.GoString(f.filter.name)
	advice := fmt.Sprintf("its options are %s", strings.Join(names, " "))
	if near := text.Closest(option, names); near != "" {
		advice = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) == 0 {
		advice = "it has no options"
	}
	return p.wrong(n, fmt.Sprintf("the filter %s has no option %q", name, text.Cut(option, 60)), advice)
}

// checkOptions refuses options by which a filter opens files or never ends.
func (p *parsed) checkOptions(n int, f *C.AVFilterContext, about traits) error {
	name := C.GoString(f.filter.name)
	for _, option := range about.files {
		if textOf(f, option) != "" {
			return p.wrong(n, fmt.Sprintf("the option %s of %s is not available here: it opens a file", option, name), "leave it out")
		}
	}
	switch name {
	case "tpad":
		const hour = 3600e6
		switch {
		case number(f, "stop") < 0:
			return p.wrong(n, "tpad=stop=-1 adds frames without end", "give a number of frames, or stop_duration")
		case max(number(f, "start"), number(f, "stop")) > mostAdded, max(number(f, "start_duration"), number(f, "stop_duration")) > hour:
			return p.wrong(n, fmt.Sprintf("tpad adds at most %d frames or an hour", mostAdded), "give less")
		}
	case "fps", "framerate", "minterpolate":
		if rate := rateOf(f); rate > mostRate {
			return p.wrong(n, fmt.Sprintf("%g frames a second are too many", rate), fmt.Sprintf("give at most %d", mostRate))
		}
	}
	return nil
}

// rateOf returns the option fps of a filter, 0 for one that depends on the video.
func rateOf(f *C.AVFilterContext) float64 {
	num, den, _ := strings.Cut(textOf(f, "fps"), "/")
	rate, err := strconv.ParseFloat(num, 64)
	if d, errDen := strconv.ParseFloat(den, 64); errDen == nil {
		rate /= d // infinite for 1/0
	}
	if err != nil {
		return 0
	}
	return rate
}

// textOf returns the value of a filter's option, "" if it lacks the option.
func textOf(f *C.AVFilterContext, option string) string {
	c := C.CString(option)
	defer C.free(unsafe.Pointer(c))
	var value *C.uint8_t
	if C.av_opt_get(unsafe.Pointer(f), c, C.AV_OPT_SEARCH_CHILDREN, &value) < 0 {
		return ""
	}
	defer C.av_free(unsafe.Pointer(value))
	return C.GoString((*C.char)(unsafe.Pointer(value)))
}

// number returns the value of a filter's numeric option, 0 if it lacks the option.
func number(f *C.AVFilterContext, option string) int64 {
	c := C.CString(option)
	defer C.free(unsafe.Pointer(c))
	var n C.int64_t
	C.av_opt_get_int(unsafe.Pointer(f), c, C.AV_OPT_SEARCH_CHILDREN, &n)
	return int64(n)
}

// link connects the filters, and finds the ends of the graph.
func (p *parsed) link() error {
	var inputs, outputs *C.AVFilterInOut
	err := p.try(-1, func() C.int { return C.avfilter_graph_segment_link(p.segment, 0, &inputs, &outputs) })
	defer C.avfilter_inout_free(&inputs)
	defer C.avfilter_inout_free(&outputs)
	if err != nil {
		return err
	}
	if p.in, p.inPad, err = p.end(inputs, "input"); err != nil {
		return err
	}
	if p.out, p.outPad, err = p.end(outputs, "output"); err != nil {
		return err
	}
	return p.connected()
}

// end returns the only end of a kind.
func (p *parsed) end(list *C.AVFilterInOut, kind string) (*C.AVFilterContext, C.uint, error) {
	if list == nil {
		return nil, 0, hint.Says(fmt.Sprintf("the graph has no %s: its filters are linked in a circle", kind), "it needs exactly one", ErrGraph)
	}
	if second := list.next; second != nil {
		what := fmt.Sprintf("the graph has more than one %s", kind)
		advice := fmt.Sprintf("it takes one video and makes one: link the %s to another filter by a label", kind)
		return nil, 0, p.wrong(slices.Index(p.filters, second.filter_ctx), what, advice)
	}
	return list.filter_ctx, C.uint(list.pad_idx), nil
}

// connected reports circles, and filters that no frame reaches.
func (p *parsed) connected() error {
	const open, done = 1, 2
	seen := map[*C.AVFilterContext]int{}
	var visit func(f *C.AVFilterContext) bool
	visit = func(f *C.AVFilterContext) bool {
		seen[f] = open
		for _, l := range av.Slice(f.outputs, int(f.nb_outputs)) {
			if l != nil && (seen[l.dst] == open || seen[l.dst] == 0 && !visit(l.dst)) {
				return false
			}
		}
		seen[f] = done
		return true
	}
	if !visit(p.in) {
		return hint.Says("the filters of the graph are linked in a circle", "give each link a label of its own", ErrGraph)
	}
	for n, f := range p.filters {
		if seen[f] == 0 {
			return p.wrong(n, "no frame reaches this filter", "link it to the input of the graph")
		}
	}
	return nil
}

// try calls FFmpeg about a filter, by its number, or about the whole graph if that is negative.
func (p *parsed) try(n int, call func() C.int) error {
	var code C.int
	part, message := av.Complaint(func() { code = call() })
	if code >= 0 {
		return nil
	}
	if n < 0 {
		n = p.numbered(part)
	}
	if message == "" {
		message = av.Error(int(code)).Error()
	}
	return p.wrong(n, message, "")
}

// numbered returns the number of the filter that FFmpeg names so in messages, or -1.
func (p *parsed) numbered(part string) int {
	return slices.IndexFunc(p.filters, func(f *C.AVFilterContext) bool { return C.GoString(f.name) == part })
}

// wrong returns an error about a filter, by its number; -1 for the whole graph.
func (p *parsed) wrong(n int, what, advice string) error {
	if advice == "" {
		advice = "ffmpeg -h filter=NAME lists the options of a filter"
	}
	place := "graph"
	if parts := places(p.text); n >= 0 && n < len(parts) && (len(p.filters) == 0 || len(p.filters) == len(parts)) {
		at := parts[n]
		place = fmt.Sprintf("filter %d of the graph, %q at character %d", n+1, text.Clip(p.text[at.from:at.to], 60), at.from+1)
	}
	if p.name != "" {
		place = p.name + ": " + place
	}
	return hint.Says(fmt.Sprintf("%s: %s", place, text.Clip(what, 300)), advice, ErrGraph)
}

// place is a part of a text.
type place struct{ from, to int }

// places returns where the filters of a graph stand in its text, without labels.
func places(s string) (list []place) {
	from, i := 0, 0
	if strings.HasPrefix(strings.TrimSpace(s), "sws_flags=") {
		from = strings.IndexByte(s, ';') + 1
		i = from
	}
	add := func(to int) {
		at := trim(s, place{from, to})
		if at.from < at.to || to < len(s) {
			list = append(list, at)
		}
		from = to + 1
	}
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			if end := strings.IndexByte(s[i+1:], '\''); end >= 0 {
				i += 1 + end
			}
		case ',', ';':
			add(i)
		}
	}
	add(len(s))
	return list
}

// trim takes labels and blanks from the ends of a part.
func trim(s string, at place) place {
	const blanks = " \n\t\r"
	for at.from < at.to {
		if strings.IndexByte(blanks, s[at.from]) >= 0 {
			at.from++
			continue
		}
		end := strings.IndexByte(s[at.from:at.to], ']')
		if s[at.from] != '[' || end < 0 {
			break
		}
		at.from += end + 1
	}
	for at.from < at.to {
		if strings.IndexByte(blanks, s[at.to-1]) >= 0 {
			at.to--
			continue
		}
		start := strings.LastIndexByte(s[at.from:at.to], '[')
		if s[at.to-1] != ']' || start < 0 {
			break
		}
		at.to = at.from + start
	}
	return at
}
