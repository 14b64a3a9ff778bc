// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lu SIZE THREADS: factorise a dense matrix in blocks, as SPLASH-2's LU does: threads own blocks
 * in a pattern and meet at a barrier after each step.  Prints a sum that does not depend on
 * the number of threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK	16

static int size, blocks, threads;
static double *matrix;
static pthread_barrier_t barrier;

/* Blocks are contiguous. */
static double *block(int i, int j)
{
	return matrix + ((size_t)i * blocks + j) * BLOCK * BLOCK;
}

static int is_mine(int me, int i, int j)
{
	return (i + j * 3) % threads == me;
}

static void factorise(double *a)
{
	int i, j, k;

	for (k = 0; k < BLOCK; k++)
		for (i = k + 1; i < BLOCK; i++) {
			a[i * BLOCK + k] /= a[k * BLOCK + k];
			for (j = k + 1; j < BLOCK; j++)
				a[i * BLOCK + j] -= a[i * BLOCK + k] * a[k * BLOCK + j];
		}
}

/* right of the diagonal */
static void solve_row(const double *d, double *a)
{
	int i, j, k;

	for (k = 0; k < BLOCK; k++)
		for (i = k + 1; i < BLOCK; i++)
			for (j = 0; j < BLOCK; j++)
				a[i * BLOCK + j] -= d[i * BLOCK + k] * a[k * BLOCK + j];
}

/* below it */
static void solve_column(const double *d, double *a)
{
	int i, j, k;

	for (k = 0; k < BLOCK; k++)
		for (i = 0; i < BLOCK; i++) {
			a[i * BLOCK + k] /= d[k * BLOCK + k];
			for (j = k + 1; j < BLOCK; j++)
				a[i * BLOCK + j] -= a[i * BLOCK + k] * d[k * BLOCK + j];
		}
}

static void update(const double *l, const double *u, double *a)
{
	int i, j, k;

	for (i = 0; i < BLOCK; i++)
		for (k = 0; k < BLOCK; k++)
			for (j = 0; j < BLOCK; j++)
				a[i * BLOCK + j] -= l[i * BLOCK + k] * u[k * BLOCK + j];
}

static void *work(void *arg)
{
	int me = (int)(long)arg, i, j, k;

	for (k = 0; k < blocks; k++) {
		if (is_mine(me, k, k))
			factorise(block(k, k));
		pthread_barrier_wait(&barrier);
		for (i = k + 1; i < blocks; i++) {
			if (is_mine(me, k, i))
				solve_row(block(k, k), block(k, i));
			if (is_mine(me, i, k))
				solve_column(block(k, k), block(i, k));
		}
		pthread_barrier_wait(&barrier);
		for (i = k + 1; i < blocks; i++)
			for (j = k + 1; j < blocks; j++)
				if (is_mine(me, i, j))
					update(block(i, k), block(k, j), block(i, j));
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int seed = 1;
	double sum = 0;
	pthread_t *t;
	size_t n;
	long i;

	if (argc != 3)
		return 2;
	blocks = atoi(argv[1]) / BLOCK;
	threads = atoi(argv[2]);
	size = blocks * BLOCK;
	if (blocks < 1 || blocks > 1000 || threads < 1 || threads > 1000)
		return 2;
	matrix = malloc((size_t)size * size * sizeof(*matrix));
	t = calloc(threads, sizeof(*t));
	if (!matrix || !t || pthread_barrier_init(&barrier, NULL, threads))
		return 1;
	for (n = 0; n < (size_t)size * size; n++) {
		seed = seed * 1103515245 + 12345;
		matrix[n] = (seed >> 16) % 1000 / 1000.0;
	}
	/* A large diagonal makes do without pivots. */
	for (i = 0; i < size; i++)
		block(i / BLOCK, i / BLOCK)[i % BLOCK * (BLOCK + 1)] += size;
	for (i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 1;
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (n = 0; n < (size_t)size * size; n++)
		sum += fabs(matrix[n]);
	printf("%.6f\n", sum);
	free(matrix);
	free(t);
	return 0;
}
