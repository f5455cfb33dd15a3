package decode

import (
	"math"

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
	LostReferences int64 // frames of H.264 that are missing by the numbers of those that refer to them
	MissingPackets int64 // packets that the index promises and the file lacks
	MissingBytes   int64 // by which the file is shorter than its header says
	UnreadBytes    int64 // after the last packet, in files that consist of packets
	MissingTimes   int64 // frames without a time, in a container that has times
	RepairedTimes  int64 // frames whose time went backwards
	FormatChanges  int64 // changes to another size or format than that of the first frame, converted
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
	payload     int64 // their bytes
	due         int64 // frames that the decoder took
	failed      int64 // packets that the decoder rejected
	failedInRow int64
	unsupported int64 // packets that FFmpeg has no code for
	starved     int64 // packets since the last frame that had no memory
	tries       int64 // failed reads since the last success
	interlaced  bool  // some picture is
	videoLost   bool  // it goes on in another codec
}

func (f *faults) damaged() bool {
	return f.reports.decoder.Load() > 0 || f.numbers.Missing(f.reports.gap) > 0
}
