/* The owner stash: senders, the owner, a thief, and threads that end meanwhile. */
#include "model.h"

#include "house.h"
#include "middle/central.h"
#include "middle/outbox.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"

namespace
{

enum { OWNER = 0, HOME = 100, ALL = 8 };

struct stash_base {
    model::objects object;
    unsigned kept = 0, home = 0;
    uint32_t reclaim = 0; /* reclaim's lock id; `collected` is the last object that it sent home */
    void *collected = NULL;
    static inline stash_base *current;

    stash_base()
    {
        current = this;
    }

    /* Accesses all shared state, so that it exists before the threads start. */
    void start()
    {
        hz3_lock_id = 98;
        model_house_start(model::ARENA, model::OBJECT_BYTES, 2);
        hz3_owner_stash_start();
        hz3_transfer_start(HZ3_MIB(1));
        hz3_get(hz3_heaps[OWNER].live);
        hz3_owner_stash_in_flight(OWNER);
        hz3_owner_stash_trim(MODEL_CLASS, false);
        hz3_transfer_push(MODEL_CLASS, closed(98, 0, 0));
        hz3_magazine_put(MODEL_CLASS, hz3_transfer_pop(MODEL_CLASS));
        hz3_outbox_put(hz3_outbox_get());
        hz3_outbox = NULL;
    }

    void use(unsigned self, unsigned i)
    {
        object.of[i].take(self);
        object.of[i].drop(self);
    }

    struct hz3_magazine *closed(unsigned self, unsigned from, unsigned n)
    {
        void **top = hz3_magazine_open(hz3_magazine_get(MODEL_CLASS), MODEL_LOAD);
        for (unsigned i = from; i < from + n; i++) {
            use(self, i);
            *++top = model::objects::address(i);
        }
        return hz3_magazine_close(top);
    }

    void push(unsigned self, unsigned from, unsigned n)
    {
        struct hz3_magazine *magazine = closed(self, from, n);
        if (!hz3_owner_stash_push(OWNER, MODEL_CLASS, magazine)) keep(self, magazine);
    }

    void keep(unsigned self, void **objects, unsigned n)
    {
        for (unsigned i = 0; i < n; i++) object.of[model::objects::number(objects[i])].take(self);
        kept += n;
    }

    void keep(unsigned self, struct hz3_magazine *magazine)
    {
        if (!magazine) return;
        keep(self, &magazine->word[magazine->header.floor + 1], hz3_magazine_count(magazine));
        hz3_magazine_put(MODEL_CLASS, magazine);
    }

    void pop(unsigned self)
    {
        keep(self, hz3_owner_stash_pop(OWNER, MODEL_CLASS));
    }

    void steal(unsigned self)
    {
        keep(self, hz3_owner_stash_steal(MODEL_CLASS));
    }

    /* What a thread's end does. */
    void leave()
    {
        if (!hz3_outbox) return;
        struct hz3_outbox *outbox = hz3_outbox;
        hz3_outbox = NULL;
        hz3_outbox_put(outbox);
    }

    void finish()
    {
        size_t left = hz3_owner_stash_objects(MODEL_CLASS);
        hz3_lock_id = 98;
        RL_ASSERT(kept + home + left + hz3_transfer_objects(MODEL_CLASS) == ALL);
        /* What it counts as in flight is rounded, so it is exact only for an empty stash. */
        RL_ASSERT(left || hz3_owner_stash_in_flight(OWNER) == 0);
        hz3_owner_stash_trim(MODEL_CLASS, true);
        hz3_transfer_trim(MODEL_CLASS, true);
        RL_ASSERT(kept + home == ALL);
        RL_ASSERT(hz3_owner_stash_in_flight(OWNER) == 0 && hz3_owner_stash_objects(MODEL_CLASS) == 0);
    }
};

/* Two threads send.  The owner takes, and so does the first sender in the end. */
struct take_and_steal : model::suite<take_and_steal, 3>, stash_base {
    void before()
    {
        start();
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * self + 2;
        switch (self) {
        case 0:
            pop(self);
            pop(self);
            break;
        case 1:
            push(self, 0, 2);
            push(self, 2, 1);
            steal(self);
            steal(self);
            break;
        default:
            push(self, 3, 1);
            push(self, 4, 2);
            push(self, 6, 2);
        }
        leave();
    }

    void after()
    {
        finish();
    }
};

/* The owner ends while one thread sends and another takes.  Its magazine goes to the transfer cache, the objects it
 * kept go home, and its stash stays. */
struct owner_leaves : model::suite<owner_leaves, 3>, stash_base {
    void before()
    {
        start();
        push(98, 0, 1);
        push(98, 1, 2);
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * self + 2;
        switch (self) {
        case 0:
            pop(self);
            RL_ASSERT(hz3_transfer_push(MODEL_CLASS, closed(self, 3, 2)));
            leave();
            break;
        case 1:
            push(self, 5, 2);
            push(self, 7, 1);
            keep(self, hz3_transfer_pop(MODEL_CLASS));
            break;
        default: steal(self); hz3_owner_stash_trim(MODEL_CLASS, true); /* as reclaim does */
        }
        leave();
    }

    void after()
    {
        finish();
    }
};

/* Two threads take, send the objects again, and take once more.  A third sends all home, and some of that again. */
struct reuse : model::suite<reuse, 3>, stash_base {
    void before()
    {
        start();
        push(98, 0, MODEL_LOAD);
        push(98, MODEL_LOAD, MODEL_LOAD);
        for (unsigned i = 2 * MODEL_LOAD; i < ALL; i++, kept++) object.of[i].take(98);
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * self + 2;
        if (self == 2) {
            reclaim = hz3_lock_id;
            hz3_owner_stash_trim(MODEL_CLASS, true);
            if (collected) {
                unsigned i = model::objects::number(collected);
                home--;
                object.of[i].drop(HOME);
                push(self, i, 1);
            }
        } else {
            struct hz3_magazine *magazine = hz3_owner_stash_pop(OWNER, MODEL_CLASS);
            for (unsigned n = magazine ? hz3_magazine_count(magazine) : 0; n--;)
                push(self, model::objects::number(magazine->word[magazine->header.top--]), 1);
            if (magazine) hz3_magazine_put(MODEL_CLASS, magazine);
            pop(self);
        }
        leave();
    }

    void after()
    {
        finish();
    }
};

} // namespace

void model_home(void *p)
{
    model::locals keep;
    stash_base *now = stash_base::current;
    now->object.of[model::objects::number(p)].take(HOME);
    now->home++;
    if (hz3_lock_id == now->reclaim) now->collected = p;
}

int main(int argc, char **argv)
{
    return model::main<take_and_steal, owner_leaves, reuse>(argc, argv);
}
