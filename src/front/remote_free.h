/* The sender's side of a remote free that goes home: what waits in this thread until it is worth a push to the owner's
 * stash.  Dense: an outgoing magazine for each (owner, class) in use.  Sparse (HZ3_REMOTE_STASH_SPARSE): one ring for
 * all, oldest first, as in the work orders.  What the stash refuses goes to the transfer cache.
 *
 * Whether an object goes home or is adopted is decided here too (HZ3_ADOPT, HZ3_ADOPT_MIN). */
#ifndef HZ3_FRONT_REMOTE_FREE_H
#define HZ3_FRONT_REMOTE_FREE_H

#include "front/thread_cache.h"
#include "middle/outbox.h"

/* Classes 1 .. this one may have to go home. */
enum { HZ3_HOME_CLASSES = HZ3_ADOPT != 1 ? HZ3_CLASSES : HZ3_ADOPT_MIN ? HZ3_ADOPT_MIN / HZ3_UNIT - 1 : 0 };

/* p is in the window, of class cls. */
HZ3_INLINE bool hz3_goes_home(const struct hz3_window *window, const void *p, unsigned cls)
{
    if (HZ3_HOME_CLASSES == 0 || likely(cls > HZ3_HOME_CLASSES)) return false;
    HZ3_FORGET_ORIGIN(p); /* else the paths of other classes compute an address for this one */
    return hz3_get(window->tags[hz3_granule_of(window, p)].owner) != hz3_thread.owner;
}

HZ3_INLINE unsigned hz3_outgoing_key(unsigned cls, unsigned owner)
{
    return owner << 8 | cls;
}

HZ3_INLINE void ***hz3_outgoing_slot(struct hz3_outbox *outbox, unsigned key)
{
    return &outbox->outgoing[(key * 0x9e3779b1u >> 16) % HZ3_OUTGOING];
}

/* A remote free; p's state is dealt with.  The usual case, one store into an outgoing magazine that has room: */
HZ3_INLINE bool hz3_remote_free_quick(void *p, unsigned cls, unsigned owner)
{
    if (HZ3_ADOPT == 2 || HZ3_REMOTE_STASH_SPARSE || HZ3_S121_PAGE_LOCAL_REMOTE || unlikely(!hz3_outbox)) return false;
    unsigned key = hz3_outgoing_key(cls, owner);
    void ***slot = hz3_outgoing_slot(hz3_outbox, key);
    if (unlikely(hz3_magazine_of(*slot)->header.key != key || hz3_is_full(*slot))) return false;
    (*slot)[1] = p;
    ++*slot;
    return true;
}

/* and every case. */
void hz3_remote_free(void *p, unsigned cls, unsigned owner);
/* Sends up to `budget` entries home (dense: magazines). */
void hz3_remote_flush(struct hz3_outbox *outbox, unsigned budget);
/* One object on its way home, by a thread that is in a slow path. */
void hz3_remote_put(struct hz3_outbox *outbox, void *p, unsigned cls, unsigned owner);
/* Leaves a closed magazine that is not empty to its owner, or, if that refuses or owner is HZ3_NO_OWNER, to the
 * transfer cache, or to central.  False: nobody has room for it. */
enum { HZ3_NO_OWNER = -1 };
bool hz3_remote_send(int owner, unsigned cls, struct hz3_magazine *magazine);
size_t hz3_remote_objects(const struct hz3_outbox *outbox, unsigned cls); /* that wait */
#endif
