/* The mutex of the slow paths, over a futex. */
#include "model.h"

extern _Thread_local uint32_t hz3_lock_id;
void model_lock(void);
bool model_trylock(void);
void model_unlock(void);

namespace
{

/* Each thread locks twice.  One of them uses trylock the second time. */
template <unsigned threads> struct mutex : model::suite<mutex<threads>, threads> {
    rl::var<unsigned> inside;
    unsigned times = 0;

    void before()
    {
        inside($) = 0;
        hz3_lock_id = 2 * (threads + 1);
        model_lock();
        model_unlock();
    }

    void visit()
    {
        RL_ASSERT(inside($) == 0);
        inside($) = 1;
        inside($) = 0;
        times++;
        model_unlock();
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * (self + 1);
        model_lock();
        visit();
        if (self == 0) {
            times++;
            if (!model_trylock()) return;
            times--;
        } else {
            model_lock();
        }
        visit();
    }

    void after()
    {
        RL_ASSERT(times == 2 * threads);
    }
};

} // namespace

int main(int argc, char **argv)
{
    return model::main<mutex<2>, mutex<3>>(argc, argv);
}
