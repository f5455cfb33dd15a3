/* Makes driver calls on request, so that tests can be written in Go. Requests are lines on
 * standard input:
 *
 *     THREAD NAME ARGUMENT...   calls a function with up to 11 numbers; answers THREAD RESULT
 *     THREAD new SIZE           allocates memory and answers with its address
 *     THREAD read ADDRESS SIZE  answers with bytes in hexadecimal digits
 *     THREAD write ADDRESS HEX
 *
 * THREAD is 0 to 3, a thread each, so that blocking calls do not hold up others. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, LINE = 1 << 22 };

static void *library;

static void answer_bytes(int thread, const uint8_t *p, size_t n)
{
	flockfile(stdout);
	printf("%d ", thread);
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
	printf("\n");
	fflush(stdout);
	funlockfile(stdout);
}

static void answer(int thread, uint64_t n)
{
	printf("%d %llu\n", thread, (unsigned long long)n);
	fflush(stdout);
}

static void write_bytes(uint8_t *p, const char *hex)
{
	for (; hex[0] && hex[1]; hex += 2) {
		char digits[3] = {hex[0], hex[1], 0};
		*p++ = (uint8_t)strtol(digits, NULL, 16);
	}
}

typedef uint32_t function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint64_t call(const char *name, const uint64_t *a)
{
	function *f = (function *)dlsym(library, name);
	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
}

static void obey(int thread, char *line)
{
	char *words[12] = {0}, *rest;
	int n = 0;
	for (char *w = strtok_r(line, " \n", &rest); w && n < 12; w = strtok_r(NULL, " \n", &rest))
		words[n++] = w;
	uint64_t args[11] = {0};
	for (int i = 1; i < n; i++)
		args[i - 1] = strtoull(words[i], NULL, 10);
	if (!strcmp(words[0], "new")) {
		answer(thread, (uint64_t)calloc(1, args[0]));
	} else if (!strcmp(words[0], "read")) {
		answer_bytes(thread, (uint8_t *)args[0], args[1]);
	} else if (!strcmp(words[0], "write")) {
		write_bytes((uint8_t *)args[0], words[2]);
		answer(thread, 0);
	} else {
		answer(thread, call(words[0], args));
	}
}

static int pipes[THREADS][2];

static void *obey_all(void *arg)
{
	int thread = (int)(intptr_t)arg;
	FILE *in = fdopen(pipes[thread][0], "r");
	char *line = malloc(LINE);
	while (fgets(line, LINE, in))
		obey(thread, line);
	return NULL;
}

int main(void)
{
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;
		if (pipe(pipes[i]) || pthread_create(&t, NULL, obey_all, (void *)(intptr_t)i))
			return 1;
	}
	char *line = malloc(LINE);
	while (fgets(line, LINE, stdin)) {
		int thread = line[0] - '0';
		if (write(pipes[thread][1], line + 2, strlen(line + 2)) < 0)
			return 1;
	}
	_exit(0); /* without waiting for blocked threads */
}
