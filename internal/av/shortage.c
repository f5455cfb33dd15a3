#define _GNU_SOURCE
#include "glue.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Thread_local int trying; // start_threads is at work
static int child, last_words;    // in a sandbox, and the place for its reason to end

static void *wait_for(void *gate)
{
	while (sem_wait(gate) && errno == EINTR)
		;
	return NULL;
}

// Starts n threads at once, and ends them. Returns 0, or -1 if the system refuses one.
static int start_threads(int n)
{
	enum { most = 64, stack = 64 << 10 };
	pthread_t threads[most];
	pthread_attr_t small;
	sem_t gate;
	int started = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, stack);
	sem_init(&gate, 0, 0);
	trying = 1;
	while (started < n && started < most && !pthread_create(&threads[started], &small, wait_for, &gate))
		started++;
	trying = 0;
	for (int i = 0; i < started; i++)
		sem_post(&gate);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	sem_destroy(&gate);
	pthread_attr_destroy(&small);
	return started < n ? -1 : 0;
}

static int map(size_t size, int rights)
{
	void *at = mmap(NULL, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -1;
	munmap(at, size);
	return 0;
}

int vf_short_of(void)
{
	// the needs of an encoder of large pictures and its threads
	if (map((size_t)1 << 30, PROT_READ | PROT_WRITE))
		return 1;
	return start_threads(48) ? 2 : 0;
}

// Ends the process with a message: on stderr or, for a child in a sandbox, as its last words.
static void refuse(const char *text)
{
	if (!child || write(last_words, text, strlen(text)) < 0) // the child's later stderr takes its place
		(void)!write(STDERR_FILENO, text, strlen(text));
	_exit(1);
}

#ifndef __SANITIZE_ADDRESS__ // which has its own
// Takes the place of the C library's. Encoders wait for ever for a thread that they did not get, so
// a child in a sandbox ends where the system refuses one, and goes on refusing it.
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
	enum { most = 20 };
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
	int err = create(t, a, run, arg);
	if (trying || !child)
		return err;
	for (int i = 1; err == EAGAIN && i <= most; i++) {
		nanosleep(&(struct timespec){.tv_nsec = i * 1000000L}, NULL);
		err = create(t, a, run, arg);
	}
	if (err == EAGAIN)
		refuse("vidfilter: no more threads can be started\n");
	return err;
}
#endif

// Go's runtime prints its stacks when it gets no memory or no thread. So the least that it needs is
// tried before it starts.
__attribute__((constructor)) static void check_limits(void)
{
	const char *names = getenv("VIDFILTER_CHILD");
	const char *words = names ? strchr(names, ',') : NULL;
	if (words) {
		child = 1;
		last_words = atoi(words + 1);
	}
	if (map((size_t)1900 << 20, PROT_NONE))
		refuse("vidfilter: out of memory: the program needs 2.1 GB of address space at least\n"
		       "hint: raise the limit (ulimit -v)\n");
	if (start_threads(12))
		refuse("vidfilter: no more threads can be started, and the program needs 12 at least\n"
		       "hint: raise the limit on processes (ulimit -u, or pids.max of the control group)\n");
}
