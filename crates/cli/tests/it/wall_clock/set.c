/* Sets the wall clock of one process: what is in the file that SET_CLOCK_FILE names, eight bytes, is added to it in
   seconds. The time since the machine was started is left alone. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *seconds;

__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("SET_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *memory = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) seconds = memory;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && seconds) time->tv_sec += *seconds;
    return result;
}
