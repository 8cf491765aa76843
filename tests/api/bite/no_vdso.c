/* Proves that hz3 does not ask for the exact time behind a filter, where there is no vDSO and a filter lets only the
 * coarse time through. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "support.h"

enum { BLOCKS = 40000, SIZE = 5000, ROUNDS = 3 };

unsigned long __getauxval(unsigned long type); /* libc's */

/* Stands before libc's. */
unsigned long getauxval(unsigned long type)
{
    return type == AT_SYSINFO_EHDR ? 0 : __getauxval(type);
}

static void forbid_the_exact_time(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_MONOTONIC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {(unsigned short)COUNT_OF(program), program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0);
}

int main(void)
{
    static void *block[BLOCKS];
    forbid_the_exact_time();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            CHECK((block[i] = malloc(SIZE)) != NULL);
            memset(block[i], 1, SIZE);
        }
        for (int i = 0; i < BLOCKS; i++) free(block[i]);
        sleep_for(0.1);
    }
    return 0;
}
