package job

import (
	"testing"
)

func TestOutputFormat(t *testing.T) {
	tests := []struct{ path, format, want string }{
		{"a.mp4", "", "mp4"}, {"a.M4V", "", "mp4"}, {"a.mov", "", "mov"}, {"dir.x/a.mkv", "", "matroska"},
		{"a.ts", "", "mpegts"}, {"a.m2ts", "", "mpegts"}, {"a.mts", "", "mpegts"}, {"a.png", "", "png"},
		{"a.jpg", "", "mjpeg"}, {"a.JPEG", "", "mjpeg"}, {"a.bmp", "", "bmp"}, {"a.tif", "", "tiff"},
		{"a.tiff", "", "tiff"}, {"a.ppm", "", "ppm"}, {"-", "ts", "mpegts"}, {"-", "mkv", "matroska"},
		{"a.mp4", "matroska", "matroska"}, {"a", "MOV", "mov"}, {"a", "null", "null"}, {"a.png", "jpeg", "mjpeg"},
		{"-", "", ""}, {"a", "", ""}, {"a.", "", ""}, {"a.avi", "", ""}, {"a.webp", "", ""}, {"a.webm", "", "webm"}, {"a.mxf", "", "mxf"},
		{"dir.mp4/a", "", ""}, {"a.mp4", "avi", ""},
	}
	for _, test := range tests {
		got, err := OutputFormat(test.path, test.format)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("outputFormat(%q, %q) = %q, %v; want %q", test.path, test.format, got, err, test.want)
		}
		if test.want == "" {
			wantUsage(t, err)
			continue
		}
		if again, err := OutputFormat(test.path, got); again != got {
			t.Errorf("the result %q is no format: %v", got, err)
		}
	}
}
