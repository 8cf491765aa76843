/* The list of objects: pushes of one and of several, drains of all, and drains that put some back. */
#include "model.h"

unsigned model_count(void);
uint32_t model_push(void *first, void *last, unsigned n, unsigned max);
void *model_take_all(uint32_t *count);
bool model_restore(void *first, unsigned n);

namespace
{

enum { MAX = 4 };

/* Thread 0 pushes two at once, thread 1 two in sequence.  The others drain, and put back what they do not need. */
template <unsigned drainers> struct drains : model::suite<drains<drainers>, 2 + drainers> {
    model::objects object;
    unsigned taken = 0, refused = 0;

    void before()
    {
        uint32_t count;
        model_push(model::objects::address(0), model::objects::address(0), 1, MAX);
        object.of[0].take(0);
        RL_ASSERT(model_take_all(&count) && count == 1 && model_count() == 0);
    }

    void push(unsigned self, unsigned from, unsigned n)
    {
        void *first = model::objects::address(from), *last = model::objects::address(from + n - 1);
        for (unsigned i = 0; i < n; i++) {
            object.of[from + i].take(self);
            object.of[from + i].drop(self);
            if (i + 1 < n) model_link_set(model::objects::address(from + i), model::objects::address(from + i + 1));
        }
        uint32_t before = model_push(first, last, n, MAX);
        if (before == UINT32_MAX)
            refused += n;
        else
            RL_ASSERT(before + n <= MAX || HZ3_S44_OWNER_STASH_COUNT);
    }

    void run(unsigned self)
    {
        if (self == 0) {
            push(self, 1, 2);
            push(self, 3, 1);
        } else if (self == 1) {
            push(self, 4, 1);
            push(self, 5, 1);
        } else {
            drain(self, true);
            drain(self, false);
        }
    }

    /* Keeps the first object, and puts the others back, by restore if possible. */
    void drain(unsigned self, bool put_back)
    {
        uint32_t count;
        void *first = model_take_all(&count), *last = first, *rest = NULL;
        unsigned n = 0;
        for (void *next, *at = first; at; at = next, n++) {
            next = model_link_get(at);
            last = at;
            if (at == first) rest = next;
            object.of[model::objects::number(at)].take(self);
            if (at != first && put_back) object.of[model::objects::number(at)].drop(self);
        }
        RL_ASSERT(n == count || HZ3_S44_OWNER_STASH_COUNT);
        taken += put_back && n ? 1 : n;
        if (!put_back || !rest) return;
        if (model_restore(rest, n - 1)) return;
        model_push(rest, last, n - 1, HZ3_LIST_MAX);
    }

    static const unsigned HZ3_LIST_MAX = 1000;

    void after()
    {
        unsigned count = model_count();
        unsigned left = taken;
        drain(9, false);
        left = taken - left;
        RL_ASSERT(taken + refused == 5);
        RL_ASSERT(HZ3_S44_OWNER_STASH_COUNT || count == left);
    }
};

} // namespace

int main(int argc, char **argv)
{
    return model::main<drains<1>, drains<2>>(argc, argv);
}
