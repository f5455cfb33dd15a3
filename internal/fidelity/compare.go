package fidelity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vidfilter/internal/contract"
)

// verdict is the result of comparing two values that are not the same.
type verdict int

const (
	lost    verdict = iota // something is missing from the second
	changed                // the second has another value, or more
	alike                  // both mean the same
)

// present is the value of units that are there in unknown number.
const present = "present"

// byDesign is for changes that are the purpose of a job.
func byDesign(string, string) verdict { return changed }

// unless returns a comparison that takes a value as equal to a missing one: its default.
func unless(usual string) func(from, to string) verdict {
	return func(from, to string) verdict {
		switch {
		case from == usual && to == "" || from == "" && to == usual:
			return alike
		}
		return lost
	}
}

// sameOrders compares field orders. An empty value means progressive pictures. Pictures may be
// repeated. If a part lacks an order, the others stay as they were.
func sameOrders(from, to string) verdict {
	a, b := ordersIn(from), ordersIn(to)
	if a != [3]int64{} && b[0] >= a[0] && b[1] >= a[1] && b[2] >= a[2] {
		return alike
	}
	part := strings.HasPrefix(from, anyOrder)
	for _, o := range orders {
		part = part && (strings.Contains(from, o) || !strings.Contains(to, o))
	}
	if part && to != "" {
		return alike
	}
	return unless(orders[0])(from, to)
}

// ordersIn reads the numbers of pictures of each order, if there are several.
func ordersIn(value string) (n [3]int64) {
	for i, o := range orders {
		if _, number, found := strings.Cut(value, o+" in "); found {
			_, _ = fmt.Sscanf(number, "%d", &n[i])
		}
	}
	return n
}

// anyOrder begins the field order of a part of pictures that differ in theirs.
const anyOrder = "some of "

// partlyOrdered is the field order of any part of a video.
func partlyOrdered(whole string) string {
	var some []string
	for _, o := range orders {
		if strings.Contains(whole, o) {
			some = append(some, o)
		}
	}
	if len(some) < 2 {
		return whole
	}
	return anyOrder + strings.Join(some, ", ")
}

// gained takes an added value for no difference.
func gained(from, _ string) verdict {
	if from == "" {
		return alike
	}
	return lost
}

// atLeast compares depths and layouts of chroma.
func atLeast(from, to string) verdict {
	if rank(to) >= rank(from) {
		return changed
	}
	return lost
}

func rank(value string) float64 {
	if i := slices.Index(chromas, strings.Replace(value, "RGB", "4:4:4", 1)); i >= 0 {
		return float64(i)
	}
	number, _, _ := strings.Cut(value, " ")
	n, _ := strconv.ParseFloat(number, 64)
	return n
}

// fewer compares "N of M pictures" by the pictures without: a stream that is cut at both ends has
// no loss.
func fewer(from, to string) verdict {
	var a, b, of, now int64
	_, _ = fmt.Sscanf(from, "%d of %d", &a, &of)
	_, _ = fmt.Sscanf(to, "%d of %d", &b, &now)
	switch {
	case to == "" || from != present && now-b > of-a:
		return lost
	case from == present || now-b == of-a:
		return alike
	}
	return changed
}

// sameNumbers compares words with numbers among them, which containers round.
func sameNumbers(from, to string) verdict {
	a, b := strings.Fields(from), strings.Fields(to)
	if len(a) != len(b) {
		return lost
	}
	for i := range a {
		x, err := strconv.ParseFloat(strings.Trim(a[i], ","), 64)
		y, _ := strconv.ParseFloat(strings.Trim(b[i], ","), 64)
		if err != nil && a[i] != b[i] || math.Abs(x-y) > 0.00011+math.Abs(x)/5000 {
			return lost
		}
	}
	return alike
}

// sameRatio compares ratios, which containers keep by whole pixels; "" is 1:1.
func sameRatio(from, to string) verdict {
	a, b, c, d := 1.0, 1.0, 1.0, 1.0
	_, _ = fmt.Sscanf(from, "%g:%g", &a, &b)
	_, _ = fmt.Sscanf(to, "%g:%g", &c, &d)
	if d > 0 && math.Abs(a*d/(b*c)-1) < 0.003 {
		return alike
	}
	return lost
}

// sameDolby compares Dolby Vision, whose profiles belong to codecs.
func sameDolby(from, to string) verdict {
	if from != "" && to != "" {
		return changed
	}
	return lost
}

// oneName lists codecs for which a container has one name: MP4 for MPEG audio of layers 2 and 3,
// Matroska for plain text with times.
var oneName = [][]string{{"mp2", "mp3"}, {"subrip", "text"}}

func sameCodec(from, to string) verdict {
	if slices.ContainsFunc(oneName, func(n []string) bool { return slices.Contains(n, from) && slices.Contains(n, to) }) {
		return alike
	}
	return lost
}

// sameTime takes times for the same that differ by the units of containers.
func sameTime(from, to string) verdict {
	if math.Abs(rank(from)-rank(to)) < 0.01 {
		return alike
	}
	return lost
}

// noMarkLess compares lists of marks. Containers that lack "default" mean the first stream.
func noMarkLess(from, to string) verdict {
	has := strings.Split(to, ", ")
	for mark := range strings.SplitSeq(from, ", ") {
		if mark != "" && mark != "default" && !slices.Contains(has, mark) {
			return lost
		}
	}
	if strings.Trim(strings.ReplaceAll(from, "default", ""), ", ") == strings.Trim(strings.ReplaceAll(to, "default", ""), ", ") {
		return alike
	}
	return changed
}

// noTagLess compares the tags of streams.
func noTagLess(from, to string) verdict {
	has := strings.Split(to, tagSeparator)
	for t := range strings.SplitSeq(from, tagSeparator) {
		same := func(other string) bool {
			key, value, _ := strings.Cut(t, ": ")
			otherKey, otherValue, _ := strings.Cut(other, ": ")
			return key == otherKey && (value == otherValue || sameText(value, otherValue) == alike)
		}
		if t != "" && !slices.ContainsFunc(has, same) {
			return lost
		}
	}
	return changed
}

func noLocation(from, to Item) bool {
	return from.Values["chroma"] == "4:2:0" && to.Values["chroma"] != "4:2:0"
}

// describesItself reports whether a stream of sound is still in a codec whose packets give rate and
// channels, where headers may give the core's alone.
func describesItself(from, to Item) bool {
	return from.Values["codec"] == to.Values["codec"] && slices.Contains(strings.Fields("aac aac_latm eac3 dts truehd mlp"), to.Values["codec"])
}

// Told lists losses that were announced: of a property of all items of a kind, or of one of them.
type Told []struct {
	Kind      ItemKind
	Name, Key string
}

// Add notes a loss. An empty name stands for all items of the kind, an empty key for the whole
// item.
func (t *Told) Add(kind ItemKind, name, key string) {
	*t = append(*t, struct {
		Kind      ItemKind
		Name, Key string
	}{kind, name, key})
}

// Covers reports whether a loss was announced. Without a key it is the whole item.
func (t Told) Covers(i Item, key string) bool {
	for _, l := range t {
		if l.Kind == i.Kind && (l.Name == "" || l.Name == i.Name) && (l.Key == "" || l.Key == key) {
			return true
		}
	}
	return false
}

// Row is a property of two files.
type Row struct {
	contract.Difference
	Same bool // both values mean the same
}

// Rows returns all properties that one of two files has, in the order of the table, with the losses
// of the second, and whether they were announced.
func Rows(a, b Facts, told Told) (list []Row) {
	pairs, extra := pair(a, b, told)
	for _, p := range pairs {
		if p.to == nil {
			list = append(list, Row{Difference: contract.Difference{
				Item: p.from.String(), From: p.from.summary(), Lost: true, Told: told.Covers(p.from, ""),
			}})
			continue
		}
		list = append(list, p.from.beside(*p.to, told)...)
	}
	for _, i := range extra {
		list = append(list, Row{Difference: contract.Difference{Item: i.String(), To: i.summary()}})
	}
	return list
}

// Compare returns the rows that differ.
func Compare(a, b Facts, told Told) (list []contract.Difference) {
	for _, r := range Rows(a, b, told) {
		if !r.Same {
			list = append(list, r.Difference)
		}
	}
	return list
}

// beside compares the values of two items.
func (i Item) beside(to Item, told Told) (list []Row) {
	for _, p := range properties {
		a, b := i.Values[p.Key], to.Values[p.Key]
		if p.Kind != i.Kind || a == "" && b == "" {
			continue
		}
		v := alike
		if a != b {
			v = p.judge(a, b)
		}
		gone := v == lost && a != "" && (p.moot == nil || !p.moot(i, to))
		list = append(list, Row{contract.Difference{
			Item: i.String(), Property: p.Name, From: a, To: b, Lost: gone, Told: gone && told.Covers(i, p.Key),
		}, v == alike})
	}
	return list
}

type pairing struct {
	from Item
	to   *Item // nil: missing
}

// pair finds the counterpart of each item, since containers reorder streams: the one of its kind
// and, for tags, name with which it shares most values, of the same codec if there is one. Items
// that are known to be left out have no rows.
func pair(a, b Facts, told Told) (pairs []pairing, extra []Item) {
	left := slices.Clone(b)
	found := make([]*Item, len(a))
	for _, sameCodec := range []bool{true, false} {
		for n, from := range a {
			if found[n] != nil || told.Covers(from, "") {
				continue
			}
			if i := closest(from, left, sameCodec); i >= 0 {
				to := left[i]
				found[n], left = &to, slices.Delete(left, i, i+1)
			}
		}
	}
	for n, from := range a {
		pairs = append(pairs, pairing{from, found[n]})
	}
	return pairs, left
}

// closest returns the place of the item that shares most values with another, or -1.
func closest(from Item, list []Item, sameCodec bool) int {
	best, most := -1, -1
	for i, to := range list {
		if n := likeness(from, to); n > most && (!sameCodec || from.Values["codec"] == to.Values["codec"]) {
			best, most = i, n
		}
	}
	return best
}

// likeness is how many values two items share; below 0 if they cannot be the same.
func likeness(from, to Item) (n int) {
	if from.Kind != to.Kind || from.Kind == Tag && from.Name != to.Name || from.Values["kind"] != to.Values["kind"] {
		return -1
	}
	for _, p := range properties {
		if a := from.Values[p.Key]; p.Kind == from.Kind && a != "" && a == to.Values[p.Key] {
			n++
		}
	}
	return n
}

// summary names the values of an item.
func (i Item) summary() string {
	var values []string
	for _, l := range i.Lines() {
		values = append(values, l.Value)
	}
	return strings.Join(values, ", ")
}

// Missed lists the properties of an item, by their keys, whose absence is a loss.
func Missed(i Item) (keys []string) {
	for _, p := range properties {
		if v := i.Values[p.Key]; p.Kind == i.Kind && v != "" && p.judge(v, "") == lost {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// Name returns the name of a property for people.
func Name(kind ItemKind, key string) string { return properties.of(kind, key).Name }

func (p Property) judge(from, to string) verdict {
	if p.compare == nil {
		return lost
	}
	return p.compare(from, to)
}

// Keys returns the keys of the properties of the video that a message about losses contains.
func Keys(message string) (keys []string) {
	for _, p := range properties {
		if p.Kind == Video && strings.Contains(message, p.Name) {
			keys = append(keys, p.Key)
		}
	}
	if slices.Contains(keys, "dolby_vision") && !strings.Contains(message, "record") {
		keys = append(keys, "rpu")
	}
	return keys
}

// Line describes a property for people: "depth", "10 bits".
type Line struct{ Name, Value string }

// Lines returns the properties of an item that are known, by their names.
func (i Item) Lines() (list []Line) {
	for _, p := range properties {
		if v := i.Values[p.Key]; p.Kind == i.Kind && v != "" {
			list = append(list, Line{p.Name, v})
		}
	}
	return list
}
