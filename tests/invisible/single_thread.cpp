/* What a burst does to the price of libc's and libstdc++'s calls in a program with one thread: they lock nothing, and
 * count references without atomic operations, until a second thread is made.  The figure is the price after the burst
 * as a multiple of that before, the least of five each. */
#include <cstdio>
#include <cstring>
#include <memory>

#include "figure.h"
#include "support.h"

static FILE *sink;
static std::shared_ptr<int> shared;

static void put(int times)
{
    for (int i = 0; i < times; i++) putc('x', sink);
}

static void copy(int times)
{
    for (int i = 0; i < times; i++) {
        std::shared_ptr<int> one = shared;
        forget(one.get());
    }
}

static double least_time(void (*body)(int))
{
    double least = 1e9;
    for (int i = 0; i < 5; i++) {
        double begun = now();
        body(1000000);
        double took = now() - begun;
        if (took < least) least = took;
    }
    return least;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    sink = fopen("/dev/null", "w");
    shared = std::make_shared<int>(1);
    CHECK(sink != nullptr);
    auto body = strcmp(argv[1], "putc") == 0 ? put : copy;
    double before = least_time(body);
    burst();
    sleep_for(1.5);
    figure(least_time(body) / before);
}
