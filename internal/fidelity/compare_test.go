package fidelity

import (
	"encoding/json"
	"strings"
	"testing"

	"vidfilter/internal/contract"
)

// Every property has a value that is a loss when it changes or is missing, or one that never is.
func TestCompareEveryProperty(t *testing.T) {
	cases := map[ItemKind]map[string]struct{ from, to string }{
		Video: {
			"codec": {"hevc", ""}, "pixel_format": {"yuv420p", ""}, "hdr": {"HDR10", ""}, // change by design
			"size": {"96x64", "64x64"}, "alpha": {"yes", ""}, "depth": {"10 bits", "8 bits"}, "chroma": {"4:2:2", "4:2:0"}, "range": {"full", "limited"},
			"primaries": {"bt2020", "bt709"}, "transfer": {"smpte2084", "bt709"}, "matrix": {"bt2020nc", "bt709"},
			"chroma_location": {"topleft", "left"}, "sample_aspect": {"4:3", "16:11"}, "rotation": {"90 degrees clockwise", "90 degrees counterclockwise"},
			"crop": {"left 8, right 8", "left 8"}, "field_order": {"top field first", "progressive"}, "stereo": {"top and bottom", "unspecified"}, "spherical": {"equirectangular", "cubemap"},
			"timecode": {"01:02:03:04", "01:02:03:05"}, "mastering_display": {"BT.2020, 0.0001 to 1000 cd/m2", "BT.2020, 0.0001 to 4000 cd/m2"},
			"content_light": {"MaxCLL 1000, MaxFALL 400 cd/m2", "MaxCLL 1000, MaxFALL 40 cd/m2"}, "ambient": {"10 lx, x 0.3, y 0.3", "10 lx, x 0.3, y 0.4"},
			"dolby_vision": {"profile 8.1, level 6", "profile 8.4, level 6"}, "hdr10plus": {"10 of 10 pictures", "9 of 10 pictures"},
			"rpu": {"10 of 10 pictures", "9 of 10 pictures"}, "captions": {"5 of 10 pictures", "4 of 10 pictures"}, "icc": {"3 bytes, checksum 1", "3 bytes, checksum 2"},
			"film_grain": {"AV1", "H.274"}, "tags": {"lens: 50 mm; site: north", "lens: 50 mm"}, "title": {"Camera", "Other"},
			"created": {"2020-02-02T02:02:02", "2020-02-02T02:02:03"},
		},
		Stream: {
			"kind": {"audio", "audio"}, "codec": {"flac", "aac"}, "sample_rate": {"48000 Hz", "24000 Hz"}, "channels": {"2", "1"}, "language": {"eng", "fra"}, "disposition": {"forced, dub", "forced"},
			"tags": {"artist: A", "artist: B"}, "title": {"Voice", "Noise"}, "created": {"2020-02-02T02:02:02", "2020-02-02T02:02:03"},
		},
		Chapter: {"start": {"0.300 s", "0.400 s"}, "title": {"One", "Two"}},
		Tag:     {"value": {"Film", "Clip"}},
	}
	for _, p := range properties {
		c, ok := cases[p.Kind][p.Key]
		if !ok {
			t.Errorf("there is no case for %s %s", p.Kind, p.Key)
			continue
		}
		item := func(v string) Facts {
			values := map[string]string{}
			if v != "" {
				values[p.Key] = v
			}
			return Facts{{p.Kind, "1", values}}
		}
		if d := Compare(item(c.from), item(c.from), nil); len(d) != 0 {
			t.Errorf("%s %s: equal values differ: %v", p.Kind, p.Key, d)
		}
		if p.Key == "kind" {
			continue // other kinds make no pair
		}
		if p.Key == "dolby_vision" {
			c.to = "" // another profile is for another codec
		}
		design := p.judge("a", "b") == changed && p.judge(c.from, c.to) == changed
		var told Told
		told.Add(p.Kind, "1", p.Key)
		for _, to := range []string{c.to, ""} {
			d := Compare(item(c.from), item(to), nil)
			if len(d) != 1 || d[0].Lost == design || d[0].Told || d[0].From != c.from || d[0].To != to || d[0].Property != p.Name {
				t.Errorf("%s %s to %q: %+v", p.Kind, p.Key, to, d)
			}
			if d := Compare(item(c.from), item(to), told); len(d) != 1 || d[0].Lost == design || d[0].Told == design {
				t.Errorf("%s %s to %q, told: %+v", p.Kind, p.Key, to, d)
			}
		}
		if d := Compare(item(""), item(c.from), nil); len(d) > 1 || len(d) == 1 && d[0].Lost {
			t.Errorf("%s %s is lost where there was none: %+v", p.Kind, p.Key, d)
		}
	}
}

// Values with the same meaning do not differ, and a more detailed value is no loss.
func TestCompareMeanings(t *testing.T) {
	for _, c := range []struct {
		kind          ItemKind
		key, from, to string
		want          verdict
	}{
		{Video, "depth", "8 bits", "10 bits", changed},
		{Video, "chroma", "4:2:0", "4:4:4", changed},
		{Video, "chroma", "RGB", "4:4:4", changed},
		{Video, "chroma", "RGB", "4:2:2", lost},
		{Video, "range", "limited", "", alike},
		{Video, "range", "full", "", lost},
		{Video, "chroma_location", "left", "", alike},
		{Video, "field_order", "", "progressive", alike},
		{Video, "field_order", "progressive in 20, top field first in 20 of 40 pictures", "top field first in 20, bottom field first in 20 of 40 pictures", lost},
		{Video, "field_order", "progressive in 20, top field first in 20 of 40 pictures", "progressive", lost},
		{Video, "field_order", partlyOrdered("progressive in 20, top field first in 20 of 40 pictures"), "progressive", alike},
		{Video, "field_order", partlyOrdered("progressive in 20, top field first in 20 of 40 pictures"), "progressive in 3, top field first in 9 of 12 pictures", alike},
		{Video, "field_order", partlyOrdered("progressive in 20, top field first in 20 of 40 pictures"), "bottom field first", lost},
		{Video, "field_order", "progressive in 20, top field first in 20 of 40 pictures", "progressive in 24, top field first in 20 of 44 pictures", alike},
		{Video, "field_order", "progressive in 20, top field first in 20 of 40 pictures", "progressive in 24, top field first in 16 of 40 pictures", lost},
		{Video, "field_order", partlyOrdered("top field first"), "progressive", lost},
		{Video, "spherical", "rectilinear", "", alike},
		{Video, "sample_aspect", "4:3", "341:256", alike},
		{Video, "mastering_display", "BT.2020, 0.0001 to 1000 cd/m2", "BT.2020, 0.0002 to 1000.1 cd/m2", alike},
		{Video, "mastering_display", "BT.2020, 0.0001 to 1000 cd/m2", "BT.2020", lost},
		{Video, "hdr10plus", "240 of 240 pictures", "238 of 238 pictures", alike},
		{Video, "hdr10plus", present, "3 of 3 pictures", alike},
		{Video, "hdr10plus", present, "", lost},
		{Video, "dolby_vision", "profile 8.1, level 1", "profile 10.1, level 1", changed},
		{Video, "captions", "5 of 10 pictures", "10 of 10 pictures", changed},
		{Video, "sample_aspect", "2740:2739", "", alike},
		{Video, "sample_aspect", "", "341:340", alike},
		{Video, "spherical", "rectilinear", "", alike},
		{Stream, "codec", "mp2", "mp3", alike},
		{Stream, "codec", "text", "subrip", alike},
		{Stream, "codec", "text", "mp3", lost},
		{Stream, "disposition", "default, forced", "forced", alike},
		{Stream, "disposition", "forced", "forced, dub", changed},
		{Stream, "tags", "artist: A", "album: B; artist: A", changed},
		{Chapter, "start", "0.300 s", "0.303 s", alike},
		{Stream, "tags", "artist: A; date: 2016-05-31 17:01:35", "artist: A; date: 2016-05-31T17:01:35Z", changed},
		{Tag, "value", "2020-02-02T02:02:02Z", "2020-02-02T02:02:02.000000Z", alike},
		{Tag, "value", "2016-05-31 17:01:35", "2016-05-31T17:01:35.000000Z", alike},
		{Tag, "value", "2016-05-31T19:01:35.250000+0200", "2016-05-31T17:01:35Z", alike},
		{Tag, "value", "2016-05-31 17:01:35", "2016-05-31T17:01:36.000000Z", lost},
		{Tag, "value", "+40.680-074.500/", "+40.6800-074.5000/", alike},
		{Tag, "value", "+40.680-74.5/", "+40.6800-074.5000/", alike},
		{Tag, "value", "+48.1374+011.5755+14.186996/", "+48.1374+011.5755+14.186981/", alike},
		{Tag, "value", "+48.1374+011.5755+000.000CRSWGS_84/", "+48.1374+011.5755/", alike},
		{Tag, "value", "+4808.244+01134.53/", "+48.1374+011.5755/", alike},
		{Tag, "value", "+48.1374+011.5755+14.187/", "+48.1374+011.5755/", lost},
		{Tag, "value", "+48.1374+011.5755/", "+48.1374-011.5755/", lost},
		{Tag, "value", "+48.1374+011.5755/Munich", "+48.1374+011.5755/", lost},
	} {
		if got := properties.of(c.kind, c.key).judge(c.from, c.to); got != c.want {
			t.Errorf("%s %s: %q to %q is judged %d, not %d", c.kind, c.key, c.from, c.to, got, c.want)
		}
	}
}

// A missing chroma location is no loss outside 4:2:0.
func TestCompareMoot(t *testing.T) {
	from := Facts{{Video, "", map[string]string{"chroma": "4:2:0", "chroma_location": "topleft"}}}
	to := Facts{{Video, "", map[string]string{"chroma": "4:2:2"}}}
	for _, d := range Compare(from, to, nil) {
		if d.Lost {
			t.Errorf("%+v", d)
		}
	}
}

func stream(name string, values ...string) Item {
	m := map[string]string{}
	for i := 0; i+1 < len(values); i += 2 {
		m[values[i]] = values[i+1]
	}
	return Item{Stream, name, m}
}

// Streams are compared with their counterparts, in any order, and missing ones are recognised.
func TestCompareStreams(t *testing.T) {
	from := Facts{
		stream("1", "kind", "audio", "codec", "aac", "language", "eng"), stream("2", "kind", "audio", "codec", "aac", "language", "ger"),
		stream("3", "kind", "subtitle", "codec", "subrip"), stream("4", "kind", "attachment", "codec", "ttf"),
		{Tag, "title", map[string]string{"value": "Film"}},
	}
	to := Facts{
		stream("1", "kind", "subtitle", "codec", "mov_text"), stream("2", "kind", "audio", "codec", "aac", "language", "ger"),
		stream("3", "kind", "audio", "codec", "aac", "language", "eng"), stream("4", "kind", "data", "codec", "bin_data"),
		{Tag, "artist", map[string]string{"value": "Somebody"}},
	}
	var told Told
	told.Add(Stream, "4", "")
	want := []contract.Difference{
		{Item: "stream 3", Property: "codec", From: "subrip", To: "mov_text", Lost: true},
		{Item: "stream 4", From: "attachment, ttf", Lost: true, Told: true},
		{Item: "tag title", From: "Film", Lost: true},
		{Item: "stream 4", To: "data, bin_data"},
		{Item: "tag artist", To: "Somebody"},
	}
	got := Compare(from, to, told)
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	var said []string
	for _, d := range got {
		said = append(said, d.String())
	}
	if s := strings.Join(said, "; "); s != "codec of stream 3: subrip becomes mov_text; stream 4: attachment, ttf is missing; "+
		"tag title: Film is missing; stream 4: data, bin_data is new; tag artist: Somebody is new" {
		t.Error(s)
	}
}

// A stream that is left out is not mistaken for another one, announced or not.
func TestCompareLeftOut(t *testing.T) {
	from := Facts{
		stream("1", "kind", "audio", "codec", "aac", "language", "eng"), stream("2", "kind", "audio", "codec", "vorbis", "language", "ger"),
	}
	for _, to := range []Facts{
		{stream("1", "kind", "audio", "codec", "vorbis", "language", "ger")}, {stream("1", "kind", "audio", "codec", "opus", "language", "ger")},
	} {
		var told Told
		told.Add(Stream, "1", "")
		told.Add(Stream, "2", "codec")
		list := Compare(from, to, told)
		if len(contract.Losses(list)) > 0 || list[0].Item != "stream 1" || list[0].To != "" {
			t.Errorf("%+v", list)
		}
	}
}

// Of a part, numbers of units and times of chapters are not compared.
func TestPartly(t *testing.T) {
	whole := Facts{
		{Video, "", map[string]string{"hdr10plus": "240 of 240 pictures", "depth": "10 bits", "field_order": "progressive in 1, top field first in 9 of 10 pictures"}},
		{Chapter, "1", map[string]string{"start": "0.000 s", "title": "One"}}, {Chapter, "2", map[string]string{"start": "9.000 s", "title": "Two"}},
	}
	part := whole.Partly(func(title string) bool { return title == "Two" })
	now := Facts{
		{Video, "", map[string]string{"hdr10plus": "3 of 3 pictures", "depth": "10 bits", "field_order": "top field first"}},
		{Chapter, "1", map[string]string{"start": "0.000 s", "title": "Two"}},
	}
	for _, d := range Compare(part, now, nil) {
		if d.Lost {
			t.Errorf("%+v", d)
		}
	}
	if len(part) != 2 || part[0].Values["depth"] != "10 bits" || part[0].Values["hdr10plus"] != present {
		t.Errorf("%+v", part)
	}
	delete(now[0].Values, "hdr10plus")
	if d := Compare(part, now, nil); len(d) == 0 || !d[0].Lost {
		t.Errorf("no unit is left, and nothing is lost: %+v", d)
	}
}

// Tags of the writer, in any language, apply to one file only. Other tags are kept.
func TestWriters(t *testing.T) {
	for key, want := range map[string]bool{"encoder": true, "ENCODER": true, "encoder-eng": true, "software-deu": true, "encoder-settings": false, "title-eng": false} {
		if OfContainer(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

func TestMissed(t *testing.T) {
	i := Item{Video, "", map[string]string{"codec": "hevc", "range": "limited", "rotation": "90 degrees clockwise", "depth": "8 bits"}}
	if got := strings.Join(Missed(i), " "); got != "depth rotation" {
		t.Error(got)
	}
	if Name(Video, "rpu") != "Dolby Vision RPUs" || strings.Join(Keys("Dolby Vision profile 7: its base layer is kept"), " ") != "dolby_vision rpu" ||
		strings.Join(Keys("content light level"), " ") != "content_light" {
		t.Error(Name(Video, "rpu"), Keys("Dolby Vision"))
	}
}
