/* A heap that threads share, its runs, and central: threads take, retire, purge, and leave. */
#include "model.h"

#include "house.h"
#include "back/gauges.h"
#include "middle/central.h"

unsigned model_runs(void);

namespace
{

enum { RUN_OBJECTS = 2, MAIN = 9 };

template <unsigned threads> struct shared_heap : model::suite<shared_heap<threads>, threads> {
    model::objects object;

    void before()
    {
        hz3_lock_id = 98;
        model_house_start(model::ARENA, model::OBJECT_BYTES, RUN_OBJECTS);
        void *objects[3 * RUN_OBJECTS];
        take(MAIN, objects, RUN_OBJECTS); /* shared state exists before the threads start */
        take(MAIN, objects + RUN_OBJECTS, RUN_OBJECTS);
        take(MAIN, objects + 2 * RUN_OBJECTS, RUN_OBJECTS);
        retire(MAIN, objects, 3 * RUN_OBJECTS - 1);
        hz3_central_purge(MODEL_CLASS, 0, false);
        retire(MAIN, objects + 3 * RUN_OBJECTS - 1, 1);
        hz3_central_release_heap(&hz3_heaps[0]);
        hz3_gauge(HZ3_GAUGE_PURGED);
        RL_ASSERT(model_runs() == 0);
    }

    unsigned take(unsigned self, void **objects, unsigned want)
    {
        enum hz3_refill_source source;
        unsigned got = hz3_central_refill(&hz3_heaps[0], MODEL_CLASS, objects, want, true, &source);
        RL_ASSERT(got && got <= want);
        for (unsigned i = 0; i < got; i++) object.of[model::objects::number(objects[i])].take(self);
        return got;
    }

    void retire(unsigned self, void **objects, unsigned n)
    {
        for (unsigned i = 0; i < n; i++) object.of[model::objects::number(objects[i])].drop(self);
        hz3_central_retire(MODEL_CLASS, objects, n);
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * self + 2;
        void *objects[2 * RUN_OBJECTS];
        if (self == 2) {
            retire(self, objects, take(self, objects, 1));
            hz3_central_purge(MODEL_CLASS, 0, false);
            hz3_central_release_heap(&hz3_heaps[0]);
            return;
        }
        unsigned got = take(self, objects, 1 + self);
        got += take(self, objects + got, 1);
        retire(self, objects, 1);
        objects[0] = objects[got - 1];
        got--;
        retire(self, objects, got);
        retire(self, objects, take(self, objects, 2));
    }

    void after()
    {
        hz3_lock_id = 98;
        hz3_central_release_heap(&hz3_heaps[0]);
        RL_ASSERT(model_runs() == 0);
        RL_ASSERT(hz3_get(hz3_heaps[0].live) == 0);
        RL_ASSERT(hz3_gauge(HZ3_GAUGE_IDLE) == 0);
        RL_ASSERT(hz3_central_retired(MODEL_CLASS) > 0);
    }
};

} // namespace

int main(int argc, char **argv)
{
    return model::main<shared_heap<2>, shared_heap<3>>(argc, argv);
}
