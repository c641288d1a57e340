/* A wall clock that can be set under running processes. Built by tests/faults/clocks.py, loaded with LD_PRELOAD.
 *
 * Only the wall clock moves, as on a real machine that an administrator or NTP sets: the monotonic clock goes on.
 * The file WALL_CLOCK_FILE holds the step as nanoseconds, eight bytes; it is mapped, so a step holds for every
 * process at once. A wait until a time of the wall clock lasts as long as it would without a step.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;
static const time_t WALL = 1000000000; /* the monotonic clock starts with the machine: it never gets this far */
static volatile int64_t *step;

__attribute__((constructor)) static void map_step(void) {
    const char *path = getenv("WALL_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, sizeof *step, PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) step = found;
    close(file);
}

static struct timespec moved(struct timespec at, int64_t by) {
    int64_t whole = (int64_t)at.tv_sec * SECOND + at.tv_nsec + by;
    return (struct timespec){.tv_sec = whole / SECOND, .tv_nsec = whole % SECOND};
}

static int64_t now_step(void) { return step ? *step : 0; }

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && is_wall(clock)) *now = moved(*now, now_step());
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *told) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (told) *told = at.tv_sec;
    return at.tv_sec;
}

int timespec_get(struct timespec *now, int base) { return clock_gettime(CLOCK_REALTIME, now) ? 0 : base; }

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    if (until->tv_sec < WALL) return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, until);
    struct timespec real = moved(*until, -now_step());
    return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, &real);
}

int sem_timedwait(sem_t *sem, const struct timespec *until) {
    struct timespec real = moved(*until, -now_step());
    return sem_clockwait(sem, CLOCK_REALTIME, &real);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    struct timespec real = moved(*until, -now_step());
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &real);
}
