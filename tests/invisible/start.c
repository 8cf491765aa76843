/* What a process that calls malloc once has more than one without it: KiB of .bss, dirty and locked memory, the
 * microseconds of a collector's look at its roots, and the answer to a request that is beyond the machine. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "figure.h"
#include "support.h"

struct segment {
    const uintptr_t *from, *to;
};
static struct segment segments[100];
static size_t segment_count, bss;

/* The writable segments of the program and its libraries: where collectors such as Boehm's look for pointers. */
static int add_segments(struct dl_phdr_info *info, size_t size, void *of_malloc)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W)) continue;
        CHECK(segment_count < COUNT_OF(segments));
        uintptr_t from = (info->dlpi_addr + header->p_vaddr + 7) & ~(uintptr_t)7;
        uintptr_t to = (info->dlpi_addr + header->p_vaddr + header->p_memsz) & ~(uintptr_t)7;
        segments[segment_count++] = (struct segment){(const uintptr_t *)from, (const uintptr_t *)to};
        if (info->dlpi_addr == (uintptr_t)of_malloc) bss += header->p_memsz - header->p_filesz;
    }
    return 0;
}

static size_t scan(void)
{
    size_t found = 0;
    uintptr_t low = (uintptr_t)segments, high = low + sizeof(segments);
    for (size_t i = 0; i < segment_count; i++)
        for (const uintptr_t *word = segments[i].from; word < segments[i].to; word++) found += *word - low < high - low;
    return found;
}

/* In milliseconds, of pages that were looked at before. */
static double scan_time(void)
{
    double least = 1e9;
    for (int i = 0; i < 50; i++) {
        double begun = now();
        forget((void *)scan());
        double took = now() - begun;
        if (took < least) least = took;
    }
    return least * 1e3;
}

static double dirty_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (!file) skip_test("there is no smaps_rollup here");
    char text[200];
    double found = -1;
    while (fgets(text, sizeof(text), file)) sscanf(text, "Private_Dirty: %lf", &found);
    CHECK(found >= 0);
    return found;
}

static double locked_kib(void)
{
    if (mlockall(MCL_CURRENT) != 0) skip_test("mlockall is not permitted here (RLIMIT_MEMLOCK)");
    return (double)status_bytes("VmRSS:") / 1024;
}

/* 0: refused with ENOMEM; 1: given; 2: refused otherwise. */
static int answer_to_200_gib(void)
{
    errno = 0;
    void *p = forget(malloc((size_t)200 << 30));
    int answer = p ? 1 : errno == ENOMEM ? 0 : 2;
    free(p);
    return answer;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "locked") == 0) {
        figure(locked_kib());
        return 0;
    }
    Dl_info library;
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &library) != 0);
    dl_iterate_phdr(add_segments, library.dli_fbase);
    free(forget(malloc(100)));
    if (strcmp(argv[1], "bss") == 0) figure((double)bss / 1024);
    if (strcmp(argv[1], "dirty") == 0) figure(dirty_kib());
    if (strcmp(argv[1], "scan") == 0) figure(scan_time());
    if (strcmp(argv[1], "200_gib") == 0) figure(answer_to_200_gib());
}
