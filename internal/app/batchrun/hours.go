package batchrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"vidfilter/internal/cli"
	"vidfilter/internal/wake"
)

// hours are the times of the week in which a process takes tasks, by the clock of its zone. The
// zero value is all times.
type hours []window

// window lasts over midnight if its end is not after its beginning.
type window struct {
	days       [7]bool // on which it begins, by time.Weekday
	begin, end int     // in minutes of the day
}

// hoursText is shared by the commands with --hours.
const hoursText = "begin tasks at these times only: 22:00-06:00, or mon-fri 22:00-06:00,sat,sun"

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

const wholeDay = 24 * 60

// parseHours reads windows, separated by commas. Days without a time of day come last, since a
// reader would take them for more days of the window behind them.
func parseHours(s string) (h hours, err error) {
	const advice = "22:00-06:00, or mon-fri 22:00-06:00,sat,sun: whole days come last"
	whole := false
	for part := range strings.SplitSeq(strings.ToLower(s), ",") {
		w := window{days: [7]bool{true, true, true, true, true, true, true}, end: wholeDay}
		words := strings.Fields(part)
		timed := len(words) > 0 && strings.Contains(words[len(words)-1], ":")
		if timed {
			w.begin, w.end, err = parseTimes(words[len(words)-1])
			words = words[:len(words)-1]
		}
		if err == nil && len(words) > 0 {
			w.days, err = parseDays(words[0])
		}
		switch {
		case err != nil:
			return nil, cli.Usagef(advice, "%v", err)
		case len(words) > 1 || len(words) == 0 && !timed:
			return nil, cli.Usagef(advice, "%q is no time of the week", part)
		case whole && timed:
			return nil, cli.Usagef(advice, "a day without a time is before %q", strings.TrimSpace(part))
		}
		whole = !timed
		h = append(h, w)
	}
	return h, nil
}

// parseTimes reads 22:00-06:00.
func parseTimes(s string) (begin, end int, err error) {
	from, to, _ := strings.Cut(s, "-")
	begin, err = parseTime(from)
	if err == nil {
		end, err = parseTime(to)
	}
	if err == nil && (begin == end || begin == wholeDay) {
		err = fmt.Errorf("%q lasts for no time; a whole day is 00:00-24:00", s)
	}
	return begin, end, err
}

// parseTime returns the minutes of the day before 06:00 or 24:00.
func parseTime(s string) (int, error) {
	if s == "24:00" {
		return wholeDay, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is no time of day", s)
	}
	return minuteOf(t), nil
}

// parseDays reads sat or mon-fri.
func parseDays(s string) (days [7]bool, err error) {
	from, to, several := strings.Cut(s, "-")
	if !several {
		to = from
	}
	first, last := slices.Index(weekdays, from), slices.Index(weekdays, to)
	if first < 0 || last < 0 {
		return days, fmt.Errorf("%q is no day of the week (%s)", s, strings.Join(weekdays, " "))
	}
	for d := first; ; d = (d + 1) % 7 {
		if days[d] = true; d == last {
			return days, nil
		}
	}
}

func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }

// open reports whether tasks may begin at a time. When clocks go back, a window may open twice.
func (h hours) open(t time.Time) bool {
	today, minute := t.Weekday(), minuteOf(t)
	return len(h) == 0 || slices.ContainsFunc(h, func(w window) bool {
		over := w.end <= w.begin
		return w.days[today] && minute >= w.begin && (over || minute < w.end) ||
			over && w.days[(today+6)%7] && minute < w.end
	})
}

// wait returns why no task may begin at a time, or "".
func (h hours) wait(t time.Time) string {
	if h.open(t) {
		return ""
	}
	const week = 7 * wholeDay
	next := week
	for _, w := range h {
		for day, begins := range w.days {
			ahead := (day-int(t.Weekday()))*wholeDay + w.begin - minuteOf(t)
			if ahead = (ahead + week) % week; begins && ahead > 0 {
				next = min(next, ahead)
			}
		}
	}
	at := minuteOf(t) + next
	day := ""
	if at >= wholeDay {
		day = weekdays[(int(t.Weekday())+at/wholeDay)%7] + " "
	}
	return fmt.Sprintf("it waits until %s%02d:%02d %s (--hours)", day, at%wholeDay/60, at%60, t.Format("MST"))
}

// hold is wait for now.
func (h hours) hold() string { return h.wait(time.Now()) }

// follow calls note with the reason to wait, or "", at each change until ctx ends.
func (h hours) follow(ctx context.Context, note func(why string)) {
	if len(h) == 0 {
		return
	}
	last := ""
	for range wake.Soon(ctx, time.Second) {
		if why := h.hold(); why != last {
			last = why
			note(why)
		}
	}
}
