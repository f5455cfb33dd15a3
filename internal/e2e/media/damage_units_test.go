package media

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// unit is a box, element, chunk, page, packet or the like: a header from at, its content from
// body to end.
type unit struct {
	at, body, end int
	kind          string
	name          place // of its kind within the file
	parent        int   // index of the unit around it, or -1
	inner         bool  // it has units in it
	next          int   // index of the unit that follows directly, or -1

	resize func(b []byte, n int) // writes the size of a content of n bytes; b begins with the unit
	seal   func(b []byte)        // makes the check sum right; b is the unit
}

// damageFormat is a format whose files are damaged unit by unit.
type damageFormat struct {
	unit    string // its name
	kinds   string // prefix of the units to damage (others only get new sizes)
	endings []string
	codecs  []string // if the format is a codec's
	inPlace bool     // units cannot grow or shrink
	parse   func(f seedFile) []unit
	more    []unitMutation
}

// parsed is a file with its units.
type parsed struct {
	b     []byte
	all   []unit
	kinds string
	r     *rand.Rand
}

// unitMutation returns a new file, or nil if the file cannot be damaged in this way.
type unitMutation struct {
	name string
	do   func(p parsed) []byte
}

// sameLength are mutations that leave the file's length.
var sameLength = []unitMutation{
	{"a bit of a UNIT's header flipped", func(p parsed) []byte {
		return p.edit(func(u unit) bool { return u.body > u.at }, func(b []byte, u unit) { b[u.at+p.r.IntN(u.body-u.at)] ^= 1 << p.r.IntN(8) })
	}},
	{"a UNIT renamed", func(p parsed) []byte {
		return p.edit(func(u unit) bool { return u.name.end > 0 }, func(b []byte, u unit) { b[u.name.at+p.r.IntN(u.name.end-u.name.at)] ^= 1 << p.r.IntN(8) })
	}},
	{"a bit at the beginning of a UNIT flipped", func(p parsed) []byte {
		return p.edit(full, func(b []byte, u unit) { b[u.body+p.r.IntN(min(32, u.end-u.body))] ^= 1 << p.r.IntN(8) })
	}},
	{"a number in a UNIT changed", func(p parsed) []byte { return p.number(func(unit) bool { return true }, 1) }},
	{"a half of a UNIT zeroed", func(p parsed) []byte {
		return p.edit(full, func(b []byte, u unit) { clear(b[(u.body+u.end)/2 : u.end]) })
	}},
	{"a UNIT zeroed", func(p parsed) []byte { return p.edit(full, func(b []byte, u unit) { clear(b[u.body:u.end]) }) }},
	{"a UNIT with another's content", func(p parsed) []byte {
		return p.edit(full, func(b []byte, u unit) {
			other := p.all[p.pick(func(o unit) bool { return full(o) && o.kind == u.kind })]
			copy(b[u.body:u.end], bytes.Clone(b[other.body:other.end]))
		})
	}},
	{"the size of a UNIT 0", func(p parsed) []byte { return p.size(func(int) int { return 0 }) }},
	{"the size of a UNIT huge", func(p parsed) []byte { return p.size(func(int) int { return 0x7fffff00 }) }},
	{"the size of a UNIT too small", func(p parsed) []byte { return p.size(func(n int) int { return n - 1 - p.r.IntN(max(1, n)) }) }},
	{"the size of a UNIT too large", func(p parsed) []byte { return p.size(func(n int) int { return n + 1 + p.r.IntN(64) }) }},
}

// otherLength are those that do not.
var otherLength = []unitMutation{
	{"a UNIT lost", func(p parsed) []byte { return p.replace(anyUnit, true, func(u unit) []byte { return nil }) }},
	{"a UNIT lost, the sizes around it wrong", func(p parsed) []byte { return p.replace(nested, false, func(u unit) []byte { return nil }) }},
	{"a UNIT twice", func(p parsed) []byte {
		return p.replace(anyUnit, true, func(u unit) []byte { return bytes.Repeat(p.b[u.at:u.end], 2) })
	}},
	{"a UNIT twice, the sizes around it wrong", func(p parsed) []byte {
		return p.replace(nested, false, func(u unit) []byte { return bytes.Repeat(p.b[u.at:u.end], 2) })
	}},
	{"a UNIT shortened", func(p parsed) []byte {
		return p.replace(full, true, func(u unit) []byte { return resized(p.b[u.at:u.end], u, p.r.IntN(u.end-u.body)) })
	}},
	{"UNITs exchanged", func(p parsed) []byte {
		i := p.pick(func(u unit) bool { return u.next >= 0 })
		if i < 0 {
			return nil
		}
		a, b := p.all[i], p.all[p.all[i].next]
		return slices.Concat(p.b[:a.at], p.b[b.at:b.end], p.b[a.at:a.end], p.b[b.end:])
	}},
	{"a UNIT moved to the end", func(p parsed) []byte {
		i := p.pick(func(u unit) bool { return u.next >= 0 })
		if i < 0 {
			return nil
		}
		u, end := p.all[i], len(p.b)
		if u.parent >= 0 {
			end = p.all[u.parent].end
		}
		return slices.Concat(p.b[:u.at], p.b[u.end:end], p.b[u.at:u.end], p.b[end:])
	}},
	{"all UNITs of a kind lost", func(p parsed) []byte {
		i := p.pick(anyUnit)
		if i < 0 {
			return nil
		}
		out := p.b
		for j, u := range slices.Backward(p.all) { // parents come before their children
			if u.kind == p.all[i].kind {
				out = splice(out, p.all, j, nil, true)
			}
		}
		return out
	}},
	{"the end gone from a UNIT on", func(p parsed) []byte {
		i := p.pick(func(u unit) bool { return u.at > 0 })
		if i < 0 {
			return nil
		}
		return bytes.Clone(p.b[:p.all[i].at])
	}},
}

func anyUnit(unit) bool  { return true }
func nested(u unit) bool { return u.parent >= 0 }
func full(u unit) bool   { return u.end > u.body }

// of returns a condition: one of these kinds.
func of(kinds ...string) func(unit) bool {
	return func(u unit) bool { return full(u) && slices.Contains(kinds, u.kind) }
}

// pick chooses a kind and then a unit of it, so that rare kinds are hit as often as others. It
// returns -1 if no unit will do.
func (p parsed) pick(ok func(unit) bool) int {
	byKind := map[string][]int{}
	for i, u := range p.all {
		if strings.HasPrefix(u.kind, p.kinds) && ok(u) {
			byKind[u.kind] = append(byKind[u.kind], i)
		}
	}
	var kinds []string
	for k := range byKind {
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return -1
	}
	slices.Sort(kinds)
	list := byKind[kinds[p.r.IntN(len(kinds))]]
	return list[p.r.IntN(len(list))]
}

// edit changes a unit in place, and makes its check sum right.
func (p parsed) edit(ok func(unit) bool, do func(b []byte, u unit)) []byte {
	i := p.pick(ok)
	if i < 0 {
		return nil
	}
	out := bytes.Clone(p.b)
	do(out, p.all[i])
	sealAll(out, p.all, i, 0)
	return out
}

// number sets a number in a unit to an extreme. It begins at a multiple of align.
func (p parsed) number(ok func(unit) bool, align int) []byte {
	return p.edit(func(u unit) bool { return full(u) && ok(u) && !u.inner }, func(b []byte, u unit) {
		content := b[u.body:u.end]
		at := p.r.IntN((min(len(content), 256)-1)/align+1) * align
		width := max(align, 1<<p.r.IntN(4))
		extreme(content[at:min(at+width, len(content))], p.r)
	})
}

// extreme sets a number of any byte order.
func extreme(b []byte, r *rand.Rand) {
	last := len(b) - 1
	switch r.IntN(7) {
	case 0:
		clear(b)
	case 1:
		clear(b)
		b[last] = 1
	case 2:
		for i := range b {
			b[i] = 0xff
		}
	case 3:
		for i := range b {
			b[i] = 0xff
		}
		b[0] = 0x7f
	case 4:
		clear(b)
		b[0] = 0x80
	case 5:
		b[last] += byte(1 + r.IntN(8))
	case 6:
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
}

// size writes another size into a unit's header.
func (p parsed) size(of func(n int) int) []byte {
	return p.edit(func(u unit) bool { return u.resize != nil }, func(b []byte, u unit) { u.resize(b[u.at:], max(0, of(u.end-u.body))) })
}

// replace puts other bytes in the place of a unit. right corrects the sizes around it.
func (p parsed) replace(ok func(unit) bool, right bool, with func(u unit) []byte) []byte {
	i := p.pick(ok)
	if i < 0 {
		return nil
	}
	return splice(p.b, p.all, i, with(p.all[i]), right)
}

func splice(b []byte, all []unit, i int, with []byte, right bool) []byte {
	u := all[i]
	out := slices.Concat(b[:u.at], with, b[u.end:])
	more := len(out) - len(b)
	if right {
		for j := u.parent; j >= 0; j = all[j].parent {
			if o := all[j]; o.resize != nil {
				o.resize(out[o.at:], o.end-o.body+more)
			}
		}
	}
	if u.parent >= 0 {
		sealAll(out, all, u.parent, more)
	}
	return out
}

// sealAll corrects the check sums from unit i outwards, after a growth by the bytes in more.
func sealAll(b []byte, all []unit, i, more int) {
	for ; i >= 0; i = all[i].parent {
		if u := all[i]; u.seal != nil {
			u.seal(b[u.at:min(u.end+more, len(b))])
		}
	}
}

// resized returns a unit cut to n bytes of content.
func resized(b []byte, u unit, n int) []byte {
	out := bytes.Clone(b[:u.body-u.at+n])
	if u.resize != nil {
		u.resize(out, n)
	}
	if u.seal != nil {
		u.seal(out)
	}
	return out
}

// numbersOf makes one mutation for each kind of unit.
func numbersOf(align int, kinds ...string) (list []unitMutation) {
	for _, k := range kinds {
		list = append(list, unitMutation{"a number in " + k + " changed", func(p parsed) []byte { return p.number(of(k), align) }})
	}
	return list
}

// changed makes a mutation of a field of a unit.
func changed(name string, ok func(unit) bool, do func(b []byte, u unit, r *rand.Rand)) unitMutation {
	return unitMutation{name, func(p parsed) []byte { return p.edit(ok, func(b []byte, u unit) { do(b, u, p.r) }) }}
}

// mutationsOf returns the ways of damage that fit a file.
func mutationsOf(f seedFile) []mutation {
	list := slices.Clone(mutations)
	for _, format := range damageFormats {
		if !format.fits(f) {
			continue
		}
		article := "a "
		if strings.ContainsRune("eoOI", rune(format.unit[0])) {
			article = "an "
		}
		named := strings.NewReplacer("a UNIT", article+format.unit, "UNIT", format.unit)
		units := relate(format.parse(f), format.kinds)
		all := slices.Concat(sameLength, format.more)
		if !format.inPlace {
			all = append(all, otherLength...)
		}
		for _, m := range all {
			do := func(b []byte, r *rand.Rand) []byte { return m.do(parsed{b, units, format.kinds, r}) }
			if do(f.data, rand.New(rand.NewPCG(0, 0))) != nil {
				list = append(list, mutation{named.Replace(m.name), do})
			}
		}
	}
	return list
}

// relate fills in inner and next.
func relate(all []unit, kinds string) []unit {
	begins := map[[2]int]int{} // by place and parent
	for i, u := range all {
		if u.parent >= 0 {
			all[u.parent].inner = true
		}
		if strings.HasPrefix(u.kind, kinds) {
			begins[[2]int{u.at, u.parent}] = i
		}
	}
	for i, u := range all {
		all[i].next = -1
		if n, ok := begins[[2]int{u.end, u.parent}]; ok && n != i {
			all[i].next = n
		}
	}
	return all
}

// random returns the numbers by which a mutation chooses its places.
func (m mutation) random(number uint64) *rand.Rand {
	i := slices.IndexFunc(mutations, func(o mutation) bool { return o.name == m.name })
	if i >= 0 {
		return rand.New(rand.NewPCG(number, uint64(i)))
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.name))
	return rand.New(rand.NewPCG(number, h.Sum64()))
}

func (d damageFormat) fits(f seedFile) bool {
	if d.codecs != nil && !slices.Contains(d.codecs, f.codec) {
		return false
	}
	return d.endings == nil || slices.ContainsFunc(d.endings, func(e string) bool { return strings.HasSuffix(f.name, e) })
}

func indexFrom(b, what []byte, from int) int {
	if i := bytes.Index(b[from:], what); i >= 0 {
		return from + i
	}
	return -1
}

func be32(b []byte, n int) { binary.BigEndian.PutUint32(b, uint32(n)) }
func le32(b []byte, n int) { binary.LittleEndian.PutUint32(b, uint32(n)) }
