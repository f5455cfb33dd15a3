package decode

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// y4mProblem is the error of a YUV4MPEG file without a picture that FFmpeg reads, or nil. FFmpeg's
// own error number means a busy device.
func y4mProblem(path string) error {
	f, err := os.Open(FileOf(path))
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	const longest = 1024
	r := bufio.NewReader(io.LimitReader(f, longest))
	header, _ := r.ReadString('\n')
	fields := strings.Fields(header)
	if len(fields) == 0 || fields[0] != "YUV4MPEG2" {
		return nil
	}
	frame, _ := r.ReadString('\n')
	width, height := y4mSize(fields[1:])
	held := max(0, st.Size()-int64(len(header)+len(frame)))
	switch {
	case width <= 0 || height <= 0:
		return nil
	case float64(held) < float64(width)*float64(height): // without colour, the smallest there is
		return fmt.Errorf("the header names a picture of %dx%d, but the file holds only %d bytes of it", width, height, held)
	}
	return fmt.Errorf("the header names a picture of %dx%d, and no such picture can be read", width, height)
}

func y4mSize(fields []string) (width, height int64) {
	for _, f := range fields {
		switch n, _ := strconv.ParseInt(f[1:], 10, 32); f[0] {
		case 'W':
			width = n
		case 'H':
			height = n
		}
	}
	return width, height
}
