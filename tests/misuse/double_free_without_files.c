/* The misuse: a double free in a process that cannot open files, and so cannot know which module called. */
#include <sys/resource.h>

#include "misuse.h"

int main(void)
{
    void *p = accuse(malloc(100));
    free(p);
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) != 0) return 1;
    free(p);
}
