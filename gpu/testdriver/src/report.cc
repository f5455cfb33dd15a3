#include "report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

namespace {

thread_local char notes[400];

// Appends a line in one write, since the programs of a test may share a log.
void write_log(const char *line) {
	static int file = config().log ? open(config().log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	if (file >= 0 && write(file, line, strlen(line)) < 0) die("cannot write the log: %m");
}

} // namespace

void complain_list(const char *format, va_list list) {
	char text[1000];
	vsnprintf(text, sizeof text, format, list);
	fprintf(stderr, "vidfilter test driver: %s\n", text);
}

void complain(const char *format, ...) {
	va_list list;
	va_start(list, format);
	complain_list(format, list);
	va_end(list);
}

void die(const char *format, ...) {
	va_list list;
	va_start(list, format);
	complain_list(format, list);
	va_end(list);
	abort();
}

void note(const char *format, ...) {
	size_t used = strlen(notes);
	va_list list;
	va_start(list, format);
	vsnprintf(notes + used, sizeof notes - used, format, list);
	va_end(list);
}

void log_call(const char *name, int result) {
	char line[500];
	snprintf(line, sizeof line, "%s %d%s\n", name, result, notes);
	notes[0] = 0;
	write_log(line);
}

void log_work(const char *format, ...) {
	char line[500];
	va_list list;
	va_start(list, format);
	size_t n = (size_t)vsnprintf(line, sizeof line - 1, format, list);
	va_end(list);
	strcpy(line + (n < sizeof line - 2 ? n : sizeof line - 2), "\n");
	write_log(line);
}
