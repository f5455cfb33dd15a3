#include "ptx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

namespace {

// Splits the text into words (names, numbers, directives) and single characters.
class Words {
	const char *at;

	void skip() {
		for (;;) {
			while (isspace((unsigned char)*at)) at++;
			if (!strncmp(at, "//", 2)) {
				at += strcspn(at, "\n");
			} else if (!strncmp(at, "/*", 2)) {
				const char *end = strstr(at, "*/");
				at = end ? end + 2 : at + strlen(at);
			} else {
				return;
			}
		}
	}

public:
	std::string word; // "" at the end

	explicit Words(const char *text) : at(text) { next(); }

	const std::string &next() {
		skip();
		const char *start = at;
		while (isalnum((unsigned char)*at) || (*at && strchr("_$%.", *at))) at++;
		if (at == start && *at) at++;
		word.assign(start, at);
		return word;
	}
	// Skips the current word if it is the expected one.
	bool pass(const char *expected) {
		if (word != expected) return false;
		next();
		return true;
	}
	int number() {
		int n = atoi(word.c_str());
		next();
		return n;
	}
};

// The size of .u32, .b8 and so on.
size_t size_of(const std::string &type) {
	size_t digits = type.find_first_of("0123456789");
	return digits == std::string::npos ? 0 : (size_t)atoi(type.c_str() + digits) / 8;
}

// .param .align 8 .b8 NAME[SIZE] or .param .u64 NAME
bool parse_param(Words &w, Entry &e) {
	if (!w.pass(".param")) return false;
	if (w.pass(".align")) w.number();
	size_t size = size_of(w.word);
	w.next();
	w.next();
	if (w.pass("[")) {
		size *= (size_t)w.number();
		if (!w.pass("]")) return false;
	}
	e.params.push_back(size);
	return size > 0;
}

// Skips a body in braces.
bool skip_body(Words &w) {
	int depth = 0;
	do {
		if (w.word.empty()) return false;
		depth += (w.word == "{") - (w.word == "}");
		w.next();
	} while (depth > 0);
	return true;
}

unsigned parse_threads(Words &w) {
	unsigned n = (unsigned)w.number();
	while (w.pass(",")) n *= (unsigned)w.number();
	return n;
}

bool parse_entry(Words &w, Entry &e) {
	e.name = w.word;
	w.next();
	if (w.pass("(") && !w.pass(")"))
		do
			if (!parse_param(w, e)) return false;
		while (w.pass(","));
	w.pass(")");
	while (w.word != "{" && !w.word.empty()) {
		if (w.pass(".maxntid") || w.pass(".reqntid"))
			e.threads = parse_threads(w);
		else
			w.next();
	}
	return skip_body(w);
}

bool parse_target(Words &w, Ptx &p) {
	if (!w.pass(".target") || w.word.compare(0, 3, "sm_")) return false;
	p.compute = atoi(w.word.c_str() + 3);
	p.specific = w.word.back() == 'a';
	w.next();
	return true;
}

} // namespace

bool parse_ptx(const char *text, Ptx &ptx) {
	Words w(text);
	if (!w.pass(".version")) return false;
	ptx.version = (int)(strtod(w.word.c_str(), nullptr) * 10 + 0.5);
	w.next();
	if (!parse_target(w, ptx)) return false;
	while (!w.word.empty()) {
		if (w.pass(".entry")) {
			Entry e;
			if (!parse_entry(w, e)) return false;
			ptx.entries.push_back(e);
		} else if (w.word == "{") {
			if (!skip_body(w)) return false;
		} else {
			w.next();
		}
	}
	return true;
}
