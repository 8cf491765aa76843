/* The gate: from the drain until it opens the gate again, a thread that forks has everything behind it to itself. */
#include "model.h"

bool hz3_gate_enter(void);
void hz3_gate_leave(void);
uint32_t hz3_gate_claim_slot(void);
void hz3_gate_give_up_slot(void);
void hz3_gate_close(void);
void hz3_gate_open(void);
bool hz3_gate_drain(void);

namespace
{

enum { FORKING, WITH_SLOT, WITHOUT, THREADS, TIMES = 2 };

struct gate : model::suite<gate, THREADS> {
    rl::var<unsigned> visits[THREADS], forks;

    void before()
    {
        for (rl::var<unsigned> &v : visits) v($) = 0;
        forks($) = 0;
        for (int slots = 0; slots < 2; slots++) {
            hz3_gate_enter();
            hz3_gate_leave();
            if (slots == 0) hz3_gate_claim_slot();
        }
        hz3_gate_give_up_slot();
        hz3_gate_close();
        hz3_gate_drain();
        hz3_gate_open();
    }

    void fork()
    {
        hz3_gate_close();
        RL_ASSERT(hz3_gate_drain());
        unsigned seen = visits[WITH_SLOT]($) + visits[WITHOUT]($);
        RL_ASSERT(seen == visits[WITH_SLOT]($) + visits[WITHOUT]($));
        forks($) = forks($) + 1;
        hz3_gate_open();
    }

    void visit(unsigned self)
    {
        if (!hz3_gate_enter()) return;
        RL_ASSERT(forks($) <= TIMES);
        visits[self]($) = visits[self]($) + 1;
        hz3_gate_leave();
    }

    void run(unsigned self)
    {
        if (self == WITH_SLOT) hz3_gate_claim_slot();
        for (int i = 0; i < TIMES; i++) {
            if (self == FORKING)
                fork();
            else
                visit(self);
        }
    }

    void after()
    {
        RL_ASSERT(forks($) == TIMES);
    }
};

} // namespace

int main(int argc, char **argv)
{
    return model::main<gate>(argc, argv);
}
