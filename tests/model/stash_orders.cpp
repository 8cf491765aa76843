/* Lane classic's owner stash: senders, threads of the owner's shard, and threads that end meanwhile. */
#include "model.h"

#include "house.h"
#include "api/options.h"
#include "middle/central.h"
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
        hz3_owner_stash_count(OWNER, MODEL_CLASS);
        hz3_owner_stash_has_pending(OWNER, MODEL_CLASS);
        hz3_owner_stash_waiting();
        void *none;
        hz3_owner_stash_pop_batch(OWNER, MODEL_CLASS, &none, 1); /* the taker's lock */
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

    void push_magazine(unsigned self, unsigned from)
    {
        struct hz3_magazine *magazine = closed(self, from, 2);
        if (!hz3_owner_stash_push(OWNER, MODEL_CLASS, magazine)) keep(self, magazine);
    }

    void push_list(unsigned self, unsigned from, unsigned n)
    {
        for (unsigned i = from; i < from + n; i++) {
            use(self, i);
            if (i > from) model_link_set(model::objects::address(i - 1), model::objects::address(i));
        }
        if (hz3_owner_stash_push_list(OWNER, MODEL_CLASS, model::objects::address(from),
                                      model::objects::address(from + n - 1), n))
            return;
        for (unsigned i = from; i < from + n; i++) object.of[i].take(self);
        kept += n;
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

    unsigned pop(unsigned self, unsigned want)
    {
        void *out[ALL];
        unsigned got = hz3_owner_stash_pop_batch(OWNER, MODEL_CLASS, out, want);
        RL_ASSERT(got <= want);
        keep(self, out, got);
        return got;
    }

    /* What a thread's end does. */
    void leave()
    {
        if (!hz3_outbox) return;
        hz3_owner_stash_flush_spill(hz3_outbox, NULL);
        struct hz3_outbox *outbox = hz3_outbox;
        hz3_outbox = NULL;
        hz3_outbox_put(outbox);
    }

    void finish()
    {
        uint32_t counted = hz3_owner_stash_count(OWNER, MODEL_CLASS); /* before _objects, which counts anew */
        size_t left = hz3_owner_stash_objects(MODEL_CLASS);
        hz3_lock_id = 98;
        RL_ASSERT(HZ3_S44_OWNER_STASH_COUNT || counted == left);
        RL_ASSERT(kept + home + left + hz3_transfer_objects(MODEL_CLASS) == ALL);
        RL_ASSERT(hz3_owner_stash_has_pending(OWNER, MODEL_CLASS) == (left > 0));
        hz3_owner_stash_trim(MODEL_CLASS, true);
        hz3_transfer_trim(MODEL_CLASS, true);
        RL_ASSERT(kept + home == ALL);
        RL_ASSERT(HZ3_S44_OWNER_STASH_COUNT || hz3_owner_stash_count(OWNER, MODEL_CLASS) == 0);
    }
};

/* Two threads send.  The owner takes, and so does the first sender in the end, which has the same shard. */
struct take_and_share : model::suite<take_and_share, 3>, stash_base {
    void before()
    {
        start();
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * self + 2;
        switch (self) {
        case 0:
            pop(self, 1);
            pop(self, 2);
            break;
        case 1:
            push_list(self, 0, 2);
            push_list(self, 2, 1);
            pop(self, 1);
            pop(self, 2);
            break;
        default:
            push_list(self, 3, 1);
            push_magazine(self, 4);
            push_list(self, 6, 2);
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
        push_list(98, 0, 1);
        push_list(98, 1, 2);
    }

    void run(unsigned self)
    {
        hz3_lock_id = 2 * self + 2;
        switch (self) {
        case 0:
            pop(self, 1);
            RL_ASSERT(hz3_transfer_push(MODEL_CLASS, closed(self, 3, 2)));
            leave();
            break;
        case 1:
            push_magazine(self, 5);
            push_list(self, 7, 1);
            keep(self, hz3_transfer_pop(MODEL_CLASS));
            break;
        default:
            pop(self, 2);
            pop(self, MODEL_LOAD);
            hz3_owner_stash_trim(MODEL_CLASS, true); /* as reclaim does */
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
        push_list(98, 0, MODEL_LOAD);
        push_list(98, MODEL_LOAD, MODEL_LOAD);
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
                push_list(self, i, 1);
            }
        } else {
            void *out[2];
            unsigned got = hz3_owner_stash_pop_batch(OWNER, MODEL_CLASS, out, 2);
            while (got--) push_list(self, model::objects::number(out[got]), 1);
            pop(self, 1 + self);
        }
        leave();
    }

    void after()
    {
        finish();
    }
};

} // namespace

struct hz3_options hz3_options;

uint64_t hz3_os_now_ms(void) /* the model has no time */
{
    return 0;
}

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
    return model::main<take_and_share, owner_leaves, reuse>(argc, argv);
}
