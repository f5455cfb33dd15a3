#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

namespace {

long number(const char *text, const char **end) {
	char *stop;
	long n = strtol(text, &stop, 10);
	if (stop == text) die("VIDFILTER_TESTDRIVER: a number is missing at \"%s\"", text);
	*end = stop;
	return n;
}

// Parses a number with an optional unit.
int64_t quantity(const char *text) {
	static const struct {
		const char *unit;
		int64_t factor;
	} units[] = {{"", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}};
	const char *unit;
	int64_t n = number(text, &unit);
	for (auto &u : units)
		if (!strcmp(unit, u.unit)) return n * u.factor;
	die("VIDFILTER_TESTDRIVER: unknown unit in \"%s\"", text);
}

Fault fault(const char *text) {
	const char *end;
	Fault f = {};
	f.at = number(text, &end);
	f.onwards = *end == '+';
	return f;
}

// "90", or "61/90" if the devices differ. The last one applies to the rest.
void computes(int *compute, const char *text) {
	for (int i = 0; i < 8; i++) {
		const char *end;
		compute[i] = (int)number(text, &end);
		if (*end == '/') text = end + 1;
	}
}

void set(Config &c, const char *name, const char *value) {
	const struct {
		const char *name;
		long *to;
	} numbers[] = {{"devices", &c.devices}, {"version", &c.version}, {"init", &c.init},
	               {"busy", &c.busy}, {"unregistered", &c.unregistered},       {"order", &c.order},
	               {"ahead", &c.ahead},     {"leaks", &c.leaks}};
	const struct {
		const char *name;
		Fault *to;
	} faults[] = {{"alloc", &c.alloc}, {"hostalloc", &c.hostalloc}, {"launch", &c.launch},
	              {"lost", &c.lost},   {"ecc", &c.ecc},             {"hang", &c.hang},     {"call", &c.call}};
	for (auto &n : numbers)
		if (!strcmp(name, n.name)) return (void)(*n.to = (long)quantity(value));
	for (auto &f : faults)
		if (!strcmp(name, f.name)) return (void)(*f.to = fault(value));
	if (!strcmp(name, "compute")) return computes(c.compute, value);
	if (!strcmp(name, "memory")) return (void)(c.memory = (size_t)quantity(value));
	if (!strcmp(name, "slow")) return (void)(c.slow = quantity(value));
	if (!strcmp(name, "log")) return (void)(c.log = value);
	die("VIDFILTER_TESTDRIVER: unknown option \"%s\"", name);
}

Config read() {
	Config c;
	const char *text = getenv("VIDFILTER_TESTDRIVER");
	char *copy = strdup(text ? text : ""), *rest; // never freed: c.log points into it
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(nullptr, ",", &rest)) {
		char *value = strchr(word, '=');
		if (!value) die("VIDFILTER_TESTDRIVER: \"%s\" has no value", word);
		*value = 0;
		set(c, word, value + 1);
	}
	return c;
}

} // namespace

Config &config() {
	static Config c = read();
	return c;
}
