/* Makes the first calls through libcuda.a from several threads, and prints their results. */
#include <libcuda.h>
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t start;
static int answers[3][8];

static void *call(void *arg)
{
	long i = (long)arg;
	CUdeviceptr ptr = 0;
	pthread_barrier_wait(&start);
	if (i % 2)
		answers[1][i] = cuTexRefSetMipmapLevelClamp((CUtexref)1, 0.25f, 7.5f);
	answers[0][i] = cuLaunchKernel((CUfunction)1, 2, 3, 4, 5, 6, 7, 8, (CUstream)9, (void **)10, (void **)11);
	if (!(i % 2))
		answers[1][i] = cuTexRefSetMipmapLevelClamp((CUtexref)1, 0.25f, 7.5f);
	answers[2][i] = cuMemAlloc(&ptr, 0x100000001);
	if (!answers[2][i] && ptr != 0x1234567890ab)
		answers[2][i] = -1;
	return NULL;
}

int main(void)
{
	static const char *const names[] = {"launch", "floats", "alloc"};
	pthread_t threads[8];
	printf("init %d\n", cuInit(0));
	pthread_barrier_init(&start, NULL, 8);
	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, call, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int k = 0; k < 3; k++) {
		printf("%s", names[k]);
		for (int i = 0; i < 8; i++)
			printf(" %d", answers[k][i]);
		printf("\n");
	}
	printf("missing %d\n", cuCtxSynchronize());
	const struct vf_cuda_state *s = vf_cuda_state();
	printf("state %d %s\n", s->init, s->load_error ? s->load_error : "loaded");
	return 0;
}
