/* Page-local remote frees: objects are recorded in their runs, and runs are announced to their owner and collected. */
#include "model.h"

#include "house.h"
#include "back/run.h"
#include "variants/page_local.h"

namespace
{

enum { OWNER = 0, RUNS = 2, RUN_OBJECTS = 4, ALL = 5, MAIN = 9, HOME = 100 };

struct noted : model::suite<noted, 3> {
    model::objects object;
    unsigned home = 0;
    static inline noted *current;

    noted()
    {
        current = this;
    }

    void before()
    {
        model_house_start(model::ARENA, model::OBJECT_BYTES, RUN_OBJECTS);
        void *objects[RUN_OBJECTS];
        for (unsigned i = 0; i < RUNS; i++) {
            struct hz3_span *run = hz3_run_new(MODEL_CLASS, OWNER);
            hz3_run_take(run, objects, RUN_OBJECTS);
            note(MAIN, i * RUN_OBJECTS);
        }
        RL_ASSERT(hz3_page_remote_collect(OWNER, MODEL_CLASS) == RUNS && home == RUNS);
        home = 0;
    }

    void note(unsigned self, unsigned i)
    {
        object.of[i].take(self);
        object.of[i].drop(self);
        hz3_page_local_note(model::objects::address(i), MODEL_CLASS, OWNER);
    }

    void run(unsigned self)
    {
        switch (self) {
        case 0:
            note(self, 0);
            note(self, RUN_OBJECTS);
            note(self, 1);
            break;
        case 1:
            hz3_page_remote_collect(OWNER, MODEL_CLASS);
            note(self, 2);
            note(self, RUN_OBJECTS + 1);
            break;
        default: hz3_page_remote_collect(OWNER, MODEL_CLASS); hz3_page_remote_collect(OWNER, MODEL_CLASS);
        }
    }

    void after()
    {
        hz3_page_remote_collect_all(MODEL_CLASS);
        RL_ASSERT(home == ALL);
    }
};

} // namespace

void model_home(void *p)
{
    model::locals keep;
    model::property &object = noted::current->object.of[model::objects::number(p)];
    object.take(HOME);
    object.drop(HOME);
    noted::current->home++;
}

int main(int argc, char **argv)
{
    return model::main<noted>(argc, argv);
}
