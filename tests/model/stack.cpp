/* The tagged stack, which the transfer cache, empty magazines, central's magazines and the owner stash use. */
#include "model.h"

unsigned model_count(void);
unsigned model_put(uint32_t number);
uint32_t model_take(unsigned *before);
unsigned model_put_two(uint32_t top, uint32_t bottom, unsigned most);
uint32_t model_take_some(uint32_t *nodes);
uint32_t model_below(uint32_t number);

namespace
{

enum { NODES = 3 };

/* Threads pop and push single nodes in any order. */
template <unsigned threads, unsigned steps> struct singles : model::suite<singles<threads, steps>, threads> {
    model::property node[NODES + 1];
    unsigned held = 0; /* by threads that have ended */

    void before()
    {
        for (unsigned n = 1; n <= NODES; n++) RL_ASSERT(model_put(n) == n - 1);
    }

    void run(unsigned self)
    {
        uint32_t mine[NODES];
        unsigned n = 0, before;
        for (unsigned step = 0; step < steps; step++) {
            if (n && (n == NODES || rl::rand(2))) {
                node[mine[--n]].drop(self);
                RL_ASSERT(model_put(mine[n]) < NODES);
            } else if ((mine[n] = model_take(&before))) {
                RL_ASSERT(before >= 1 && before <= NODES);
                node[mine[n++]].take(self);
            }
        }
        held += n;
    }

    void after()
    {
        unsigned left = model_count(), before;
        RL_ASSERT(left + held == NODES);
        while (uint32_t number = model_take(&before)) {
            RL_ASSERT(before == left--);
            node[number].take(threads);
        }
        RL_ASSERT(left == 0);
    }
};

/* ABA: one thread takes while the other repeatedly takes the same node and puts it back, at last above another node.
 * The count is then the same as before, and so would be a short tag.  This is too rare for random schedules. */
struct again : model::suite<again, 2> {
    static const bool exhaustive = true;
    model::property node[4];

    void before()
    {
        model_put(3);
        model_put(2);
        model_put(1);
        take(1);
        take(1);
        put(1, 1);
    }

    uint32_t take(unsigned self)
    {
        unsigned before;
        uint32_t number = model_take(&before);
        if (number) node[number].take(self);
        return number;
    }

    void put(unsigned self, uint32_t number)
    {
        if (!number) return;
        node[number].drop(self);
        model_put(number);
    }

    void run(unsigned self)
    {
        uint32_t first = take(self);
        if (self == 0) {
            take(self);
            return;
        }
        for (unsigned i = 0; i < 2; i++) {
            put(self, first);
            first = take(self);
        }
        take(self);
        put(self, 2);
        put(self, first);
    }
};

/* Threads take two nodes at once, or as many as there are, and put them back as a chain or one by one. */
template <unsigned threads, unsigned steps> struct chains : model::suite<chains<threads, steps>, threads> {
    model::property node[NODES + 1];

    void before()
    {
        for (unsigned n = 1; n <= NODES; n++) model_put(n);
    }

    void run(unsigned self)
    {
        for (unsigned step = 0; step < steps; step++) {
            uint32_t nodes = 1 + rl::rand(2), first = model_take_some(&nodes);
            if (!first) continue;
            uint32_t second = nodes > 1 ? model_below(first) : 0;
            RL_ASSERT(nodes <= 2);
            node[first].take(self);
            if (second) node[second].take(self), node[second].drop(self);
            node[first].drop(self);
            if (second && rl::rand(2)) {
                RL_ASSERT(model_put_two(second, first, NODES));
                continue;
            }
            model_put(first);
            if (second) model_put(second);
        }
    }

    void after()
    {
        uint32_t nodes = NODES + 1, number = model_take_some(&nodes);
        RL_ASSERT(nodes == NODES);
        for (; nodes--; number = model_below(number)) node[number].take(threads);
        RL_ASSERT(number == 0);
    }
};

/* Two threads put a chain of two each where there is room for one of them. */
struct bounded : model::suite<bounded, 2> {
    unsigned put[2];

    void before()
    {
        model_put(5);
    }

    void run(unsigned self)
    {
        put[self] = model_put_two(2 * self + 2, 2 * self + 1, 4);
    }

    void after()
    {
        RL_ASSERT(put[0] + put[1] == 1);
        RL_ASSERT(model_count() == 3);
    }
};

} // namespace

int main(int argc, char **argv)
{
    return model::main<singles<2, 8>, singles<3, 4>, chains<2, 4>, chains<3, 2>, bounded, again>(argc, argv);
}
