// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * insn_fuzz --gen SEED COUNT CASES	make cases
 * insn_fuzz --run [-l] [-n NATIVE] [-i IMAGE] CASES RESULTS [FIRST [COUNT]]
 *		run them; -l: light, for the oracle; -n: avoid what NATIVE, a native run's
 *		results, shows to fault natively only; IMAGE gets the last xsave area
 * insn_fuzz --compare CASES RESULTS RESULTS [SHOW]
 * insn_fuzz --show CASES NUMBER
 *
 * Making the cases is a program run of its own, so that what runs under the engine,
 * or is single-stepped, is little more than the cases.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "insn_fuzz.h"

static int usage(void)
{
	fputs("usage: insn_fuzz --gen SEED COUNT CASES\n"
	      "       insn_fuzz --run [-l] [-n NATIVE] [-i IMAGE] CASES RESULTS "
	      "[FIRST [COUNT]]\n"
	      "       insn_fuzz --compare CASES RESULTS RESULTS [SHOW]\n"
	      "       insn_fuzz --show CASES NUMBER\n", stderr);
	return 2;
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 0);
}

static int generate(uint64_t seed, uint64_t count, const char *path)
{
	struct fuzz_file head = { FUZZ_MAGIC, seed, count };
	FILE *out = fopen(path, "wb");
	struct fuzz_case c;

	if (!out || fwrite(&head, sizeof(head), 1, out) != 1)
		goto fail;
	for (uint64_t i = 0; i < count; i++) {
		generate_case(&c, seed, i);
		if (fwrite(&c, sizeof(c), 1, out) != 1)
			goto fail;
	}
	if (!fclose(out))
		return 0;
fail:
	perror(path);
	return 2;
}

static const struct fuzz_file *open_cases(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct fuzz_file *f = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && (size_t)st.st_size >= sizeof(*f))
		f = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (f == MAP_FAILED || f->magic != FUZZ_MAGIC ||
	    (uint64_t)st.st_size != sizeof(*f) + f->count * sizeof(f->c[0])) {
		fprintf(stderr, "insn_fuzz: %s: no cases: %s\n", path, strerror(errno));
		exit(2);
	}
	close(fd);
	return f;
}

static int run(int argc, char **argv)
{
	const struct fuzz_file *f;
	struct fuzz_run run = { 0 };
	int c;

	while ((c = getopt(argc, argv, "ln:i:")) != -1) {
		switch (c) {
		case 'l':
			run.light = 1;
			break;
		case 'n':
			run.native = optarg;
			break;
		case 'i':
			run.image = optarg;
			break;
		default:
			return usage();
		}
	}
	argv += optind;
	argc -= optind;
	if (argc < 2 || argc > 4)
		return usage();
	f = open_cases(argv[0]);
	run.out = argv[1];
	run.first = argc > 2 ? number(argv[2]) : 0;
	if (run.first > f->count)
		run.first = f->count;
	run.count = argc > 3 ? number(argv[3]) : f->count;
	if (run.count > f->count - run.first)
		run.count = f->count - run.first;
	return run_cases(f, &run);
}

int main(int argc, char **argv)
{
	const struct fuzz_file *f;

	if (argc == 5 && !strcmp(argv[1], "--gen"))
		return generate(number(argv[2]), number(argv[3]), argv[4]);
	if (argc > 1 && !strcmp(argv[1], "--run"))
		return run(argc - 1, argv + 1);
	if (argc < 4)
		return usage();
	f = open_cases(argv[2]);
	if (!strcmp(argv[1], "--compare") && argc >= 5)
		return compare_results(f, argv[3], argv[4],
				       argc > 5 ? (unsigned int)number(argv[5]) : 1);
	if (!strcmp(argv[1], "--show")) {
		if (number(argv[3]) >= f->count)
			return usage();
		show_case(f, number(argv[3]));
		return 0;
	}
	return usage();
}
