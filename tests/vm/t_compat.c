// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A 32-bit consumer: all commands and both views, by the system calls of 32-bit programs, which a
 * 64-bit program can make by int 0x80 if what it passes lies below 4 GiB.
 *
 * mmap2's offset is 32 bits of pages, so views have to lie below 16 TiB in the file.
 */
#include "vm.h"

#define NR32_ioctl	54
#define NR32_mmap2	192
#define CHUNK		(64 * KIB)

/* What a 32-bit program would have; the views of the other half stay 64-bit, to compare. */
static struct low {
	struct adept_session_create create;
	struct adept_session_info info;
	struct adept_exchange exchange;
	struct adept_desc desc[8];
	struct adept_give give[8];
	struct adept_ring_info ring;
	struct adept_slot_cmd cmd;
	struct adept_stats stats;
	struct adept_version version;
	struct adept_set_policy policy;
} *low;

static long call32(u32 nr, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f)
{
	int ret;

	/* ebp has the sixth argument. */
	asm volatile("push %%rbp\n\tmov %7, %%ebp\n\tint $0x80\n\tpop %%rbp"
		     : "=a"(ret)
		     : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "r"(f)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static long ioctl32(int fd, u32 cmd, void *arg)
{
	return call32(NR32_ioctl, fd, cmd, (u32)(u64)arg, 0, 0, 0);
}

static void *map32(u64 size, int fd, u64 off)
{
	long p;

	if (off >> 12 >> 32 || size >> 32)
		return MAP_FAILED;
	p = call32(NR32_mmap2, 0, size, PROT_READ, MAP_SHARED, fd, off >> 12);
	return p < 0 && p > -4096 ? MAP_FAILED : (void *)(u64)(u32)p;
}

static int make32(u32 chunk_size, u32 nchunks, u32 nslots)
{
	int dev = open("/dev/adept", O_RDWR | O_CLOEXEC), fd;

	must(dev >= 0);
	must(!ioctl32(dev, ADEPT_IOC_VERSION, &low->version));
	low->create = (struct adept_session_create){
		.version = ADEPT_ABI_VERSION, .chunk_size = chunk_size, .nchunks = nchunks,
		.nslots = nslots, .policy = ADEPT_POLICY_WAIT,
	};
	fd = ioctl32(dev, ADEPT_IOC_SESSION_CREATE, &low->create);
	close(dev);
	must(fd >= 0);
	must(!ioctl32(fd, ADEPT_IOC_SESSION_INFO, &low->info));
	return fd;
}

static void consume(void)
{
	struct progress *progress = progress_make();
	struct job j = { .progress = progress, .records = 2 * CHUNK / 210 };
	struct session s;
	void *data, *info;
	pid_t pid;
	int fd = make32(CHUNK, 4, 2);

	session_fd(&s, fd);
	check(!memcmp(&s.info, &low->info, sizeof(s.info)) &&
	      low->version.version == ADEPT_ABI_VERSION, "a session, and what is known of it");
	session_view(&s);
	data = map32(s.info.area_size, fd, s.info.data_off);
	info = map32(s.info.info_size, fd, s.info.info_off);
	check(data != MAP_FAILED && info != MAP_FAILED, "mmap2 of the data at %#llx, info at %#llx",
	      s.info.data_off, s.info.info_off);
	if (data == MAP_FAILED || info == MAP_FAILED) {
		session_close(&s);
		return;
	}
	j.s = &s;
	pid = spawn(job_run, &j);
	must(!wait_for(pid));
	low->exchange = (struct adept_exchange){ .take = (u64)low->desc, .ntake = 8 };
	must(!ioctl32(fd, ADEPT_IOC_EXCHANGE, &low->exchange));
	check(low->exchange.taken >= 2 && low->desc[0].end && !low->desc[0].seq,
	      "%u chunks taken", low->exchange.taken);
	check(!memcmp(data, s.data, CHUNK) && *(u32 *)data == rec_id(0, rec_values(0, 0)),
	      "records in the view");
	check(!memcmp(info, s.chunk_info, 2 * sizeof(struct adept_chunk_info)) &&
	      ((struct adept_chunk_info *)info)->tail.flags & ADEPT_CTX_VALID, "and contexts");
	low->give[0] = (struct adept_give){ 0, low->desc[0].ring, 0 };
	low->exchange = (struct adept_exchange){ .give = (u64)low->give, .ngive = 1 };
	must(!ioctl32(fd, ADEPT_IOC_EXCHANGE, &low->exchange));
	check(low->exchange.given == 1 && !*(u32 *)data, "a chunk given back");
	must(!ioctl32(fd, ADEPT_IOC_STATS, &low->stats));
	must(!ioctl32(fd, ADEPT_IOC_RING_INFO, &low->ring));
	must(!ioctl32(fd, ADEPT_IOC_SET_POLICY, &low->policy));
	check(low->stats.given == 1 && low->ring.state == ADEPT_RING_DEAD, "statistics");
	low->cmd = (struct adept_slot_cmd){ .ring = low->ring.ring, .flags = ADEPT_RESET_FORCE };
	check(!ioctl32(fd, ADEPT_IOC_RESET, &low->cmd), "a ring reset");
	munmap(data, s.info.area_size);
	munmap(info, s.info.info_size);
	session_close(&s);
}

/* The largest session there can be: its last pages. */
static void largest(void)
{
	int fd = make32(ADEPT_CHUNK_SIZE_MAX, ADEPT_CHUNKS_MAX, ADEPT_SLOTS_MAX);
	const struct adept_session_info *i = &low->info;
	void *data = map32(4096, fd, i->data_off + i->area_size - 4096);
	void *info = map32(4096, fd, i->info_off + i->info_size - 4096);

	check(data != MAP_FAILED && info != MAP_FAILED &&
	      i->data_off + i->area_size <= i->info_off && i->area_size <= i->data_off,
	      "the end of the largest session's views");
	if (data != MAP_FAILED)
		munmap(data, 4096);
	if (info != MAP_FAILED)
		munmap(info, 4096);
	close(fd);
}

int main(void)
{
	low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	must(low != MAP_FAILED);
	if (call32(20, 0, 0, 0, 0, 0, 0) != getpid()) {
		skip("no 32-bit system calls");
		return finish();
	}
	consume();
	largest();
	must(counter_becomes("sessions", 0));
	return finish();
}
