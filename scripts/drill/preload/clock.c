// A clock that can jump, for a program that asks libc for the time: LD_PRELOAD puts these functions before
// those of libc. The file that FLASHSALE_TEST_CLOCK names holds how many seconds the clock is ahead
// (internal/testkit/launch has the same for Go programs). The functions make plain system calls: libfaketime
// looks up those of libc and calls itself without end in redis-server, which has an allocator of its own.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long none, *ahead = &none;

__attribute__((constructor)) static void map_clock(void) {
	const char *path = getenv("FLASHSALE_TEST_CLOCK");
	void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, path ? open(path, O_RDONLY) : -1, 0);
	if (page != MAP_FAILED) ahead = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, clock, now);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
	return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	(void)zone;
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now) {
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	if (now) *now = exact.tv_sec;
	return exact.tv_sec;
}
