package decode

//#include "glue.h"
import "C"

import (
	"log/slog"
	"math"
	"os"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
)

// Damage counts the faults of an input that could still be read.
type Damage struct {
	DemuxerReports int64 // errors that the demuxer logged
	DecoderReports int64 // errors that the decoder logged
	TimeGaps       int64 // places where frames are missing by their times
	LostFrames     int64 // frames that the decoder took and did not return
	Breaks         int64 // faulty places in the container: see container.end
	MissingEnd     int64 // 1 if the mark that ends such files is missing
	ReadErrors     int64 // the container broke off or could not be followed
	CorruptPackets int64 // packets that the container marks as damaged
	DecodeErrors   int64 // packets that the decoder rejected
	DamagedFrames  int64 // frames in which the decoder concealed errors
	EarlyFrames    int64 // frames before the first key frame, which cannot be decoded
	LostReferences int64 // frames of H.264 that are missing by the numbers in others
	MissingPackets int64 // packets that the index promises and the file lacks
	MissingBytes   int64 // from the file's size to the size in its header
	UnreadBytes    int64 // after the last packet, in files that consist of packets
	MissingTimes   int64 // frames without a time, in a container that has times
	RepairedTimes  int64 // frames whose time went backwards
	FormatChanges  int64 // changes of size or format; frames are converted to the first
	LateStreams    int64 // streams that begin too late to be tracks of the output
	MissingSeconds float64
}

// Counts returns the counts above 0, by their names in messages.
func (d Damage) Counts() map[string]int64 {
	m := map[string]int64{}
	for name, n := range map[string]int64{
		"errors in the container": d.DemuxerReports, "errors in the video": d.DecoderReports,
		"gaps in time": d.TimeGaps, "lost frames": d.LostFrames, "breaks in the container": d.Breaks, "missing end marks": d.MissingEnd, "bytes left over": d.UnreadBytes,
		"read errors": d.ReadErrors, "corrupt packets": d.CorruptPackets, "decode errors": d.DecodeErrors,
		"frames before the first key frame": d.EarlyFrames, "lost reference frames": d.LostReferences,
		"damaged frames": d.DamagedFrames, "missing packets": d.MissingPackets, "missing bytes": d.MissingBytes, "missing timestamps": d.MissingTimes,
		"repaired timestamps": d.RepairedTimes, "format changes": d.FormatChanges, "streams that begin later": d.LateStreams,
		"missing seconds": int64(math.Ceil(d.MissingSeconds)),
	} {
		if n > 0 {
			m[name] = n
		}
	}
	return m
}

// faults are the signs of damage in a video.
type faults struct {
	damage  Damage
	reports reports
	gaps    gaps
	numbers units.FrameNumbers

	packets     int64 // of the video
	begin       int64 // PTS of the first of them
	promised    int64 // packets in the index on opening, -1 if unknown
	videoBytes  int64 // their bytes
	due         int64 // frames that the decoder took
	failed      int64 // packets that the decoder rejected
	failedInRow int64
	unsupported int64 // packets that FFmpeg has no code for
	starved     int64 // packets since the last frame that had no memory
	tries       int64 // failed reads since the last success
	interlaced  bool  // some picture is
	videoLost   bool  // it goes on in another codec
	tableAt     int64 // packets until the table of the program changed

	// begun: a frame that was asked for has come. Before, leading pictures of an open GOP may fail,
	// which belong to the part before.
	begun bool
}

// tableChanged reports whether the program's table changed near the packets that failed in a row.
// It is read some packets ahead.
func (f *faults) tableChanged() bool {
	const about = 500
	return f.tableAt > 0 && f.packets-f.failedInRow-f.tableAt < about
}

func (f *faults) damaged() bool {
	return f.reports.fromDecoder.Load() > 0 || f.numbers.Missing(f.reports.gapBefore) > 0
}

// checkComplete compares the packets read with the container's promises, and counts the missing
// parts. kept is how many of the frames due the decoder has not returned.
func (f *faults) checkComplete(d *demuxer, kept int64) {
	fc, c := d.context(), d.form
	if c.indexed {
		f.damage.MissingPackets = max(0, d.indexed()-f.packets)
	}
	f.damage.MissingBytes = missingBytes(d.path)
	f.checkEnding(d)
	f.checkTimes(d)
	if d.framed(f.interlaced) {
		f.damage.LostFrames = max(0, kept-f.reports.unkeyedFrames())
	}
	if c.dense && !d.leavesOut() {
		f.damage.Breaks += d.holes
	}
	if d.leavesOut() || fc.duration <= 0 || fc.duration_estimation_method != C.AVFMT_DURATION_FROM_STREAM && fc.duration_estimation_method != C.AVFMT_DURATION_FROM_PTS ||
		d.clock.end == av.NoPTS {
		return
	}
	// Headers give the time of the end, NUT's index the time of the last frame; FFmpeg's own
	// estimate is a length.
	promised, slack := int64(fc.duration), max(second, int64(fc.duration)/50)
	if c.lastTime > 0 {
		slack = c.lastTime
	} else if c.lastEnd > 0 && d.frames(1) > 0 {
		slack = d.frames(c.lastEnd)
	} else if fc.duration_estimation_method == C.AVFMT_DURATION_FROM_PTS && fc.start_time != C.AV_NOPTS_VALUE {
		promised += int64(fc.start_time)
	}
	if missing := promised - d.clock.end; missing > slack {
		f.damage.MissingSeconds = float64(missing) / float64(second)
	}
}

// checkTimes looks for gaps. They are no damage if the container has a length for each frame, or
// leaves out frames by design, and an index lists all there are.
func (f *faults) checkTimes(d *demuxer) {
	if indexed := f.promised >= f.packets; d.form.untimed || indexed {
		return
	}
	f.gaps.strict = d.form.strict
	f.damage.TimeGaps = f.gaps.count(func(t int64) int64 { return toMicros(t, d.video.TimeBase()) }, d.clock.joints)
	if usual := f.gaps.usual(); !f.reports.anywhere && f.begin != av.NoPTS && 2*(f.gaps.first-f.begin) > 3*usual && usual > 0 {
		f.damage.TimeGaps++ // the first frames of the file are not shown
	}
}

// checkEnding looks at the file itself, if it is one. Bytes from a pipe are counted.
func (f *faults) checkEnding(d *demuxer) {
	c, damage := d.form, &f.damage
	if c.packed && d.forwards {
		if pb := d.context().pb; pb != nil {
			damage.UnreadBytes = max(0, int64(C.avio_tell(pb))-d.bytes)
		}
		return
	}
	st, err := os.Stat(FileOf(d.path))
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	if c.packed || c.indexLast && d.bytes < st.Size()/2 {
		damage.UnreadBytes = max(0, st.Size()-d.bytes)
	}
	if c.packed && d.bytes > st.Size() { // FFmpeg fills a frame of DV up with the one before
		damage.MissingBytes = d.bytes - st.Size()
	}
	if c.pictures {
		damage.UnreadBytes = max(0, st.Size()-f.videoBytes)
	}
	if c.end == nil {
		return
	}
	file, err := os.Open(FileOf(d.path))
	if err != nil {
		return
	}
	defer file.Close()
	if c.trailer != nil {
		if n := c.trailer(file, st.Size()); n > 0 {
			d.warn("behind the video the file has %d bytes of its camera's or writer's own, which are not copied", n)
		}
	}
	breaks, ended := c.end(file, st.Size())
	if breaks > 0 {
		d.tell(slog.LevelDebug, "breaks in the container: its parts do not add up to %d bytes; the last packet ends at %d", st.Size(), d.bytes)
	}
	damage.Breaks += breaks
	if !ended {
		damage.MissingEnd = 1
	}
}
