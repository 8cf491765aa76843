/* A child of vfork gives privileges up (PR_SET_NO_NEW_PRIVS) before it execs, as launchers do.  The figure is how many
 * MiB more its parent then keeps of a burst, after 4 s of sleep, than one that had no such child. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

static void give_privileges_up(void)
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        double without = figure_of((const char *const[]){"plain", NULL});
        double with = figure_of((const char *const[]){"launcher", NULL});
        figure(with - without);
        return 0;
    }
    if (strcmp(argv[1], "launcher") == 0) give_privileges_up();
    burst();
    sleep_for(4);
    figure((double)(resident_bytes() >> 20));
}
