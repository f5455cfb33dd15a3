// What the driver has to say.
#pragma once
#include <stdarg.h>

// Says on stderr what a program did wrong.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain_list(const char *format, va_list list);
// Says so and ends the program: for what no answer of the driver would make heard.
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Adds words to the log's line about the call in progress.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Writes that line: the function, its result, the notes.
void log_call(const char *name, int result);
// Writes a line about work that runs now.
void log_work(const char *format, ...) __attribute__((format(printf, 1, 2)));
