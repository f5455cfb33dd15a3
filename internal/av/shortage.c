#include "glue.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *wait_for(void *gate)
{
	while (sem_wait(gate) && errno == EINTR)
		;
	return NULL;
}

// Starts so many threads at once, and ends them. Returns 0, or -1 if the system refuses one.
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
	while (started < n && started < most && !pthread_create(&threads[started], &small, wait_for, &gate))
		started++;
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
	// what an encoder of large pictures takes, and its threads
	if (map((size_t)1 << 30, PROT_READ | PROT_WRITE))
		return 1;
	return start_threads(48) ? 2 : 0;
}

// Ends the process with a message: on stderr or, for a child in a sandbox, as its last words.
static void refuse(const char *text)
{
	const char *child = getenv("VIDFILTER_CHILD");
	const char *words = child ? strchr(child, ',') : NULL;
	if (write(words ? atoi(words + 1) : STDERR_FILENO, text, strlen(text)) < 0)
		_exit(2);
	_exit(1);
}

// Go's runtime prints its stacks when it gets no memory or no thread. So the least that it needs is
// tried before it starts.
__attribute__((constructor)) static void check_limits(void)
{
	if (map((size_t)1900 << 20, PROT_NONE))
		refuse("vidfilter: out of memory: the program needs 2.1 GB of address space at least\n"
		       "hint: raise the limit (ulimit -v)\n");
	if (start_threads(12))
		refuse("vidfilter: no more threads can be started, and the program needs 12 at least\n"
		       "hint: raise the limit on processes (ulimit -u, or pids.max of the control group)\n");
}
