// Messages and the log.
#pragma once
#include <stdarg.h>

// Reports a program's mistake on stderr.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_list(const char *format, va_list list);
// Reports it and aborts the program, for mistakes that no result of a call would reveal.
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Appends details to the log line of the call in progress.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Writes that line: the function, its result, the details.
void log_call(const char *name, int result);
// Writes a line about work that begins to run.
void log_work(const char *format, ...) __attribute__((format(printf, 1, 2)));
