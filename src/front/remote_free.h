/* A free of another heap's object: decides whether it goes home or is adopted (HZ3_ADOPT_MIN), and sends it home
 * (front/outgoing). */
#pragma once

#include "front/outgoing.h"
#include "front/thread.h"

/* Objects of classes 1 .. HZ3_HOME_CLASSES may have to go home. */
enum {
    HZ3_HOME_CLASSES = HZ3_ADOPT_MIN == HZ3_SMALL_MAX ? HZ3_CLASSES
                       : HZ3_ADOPT_MIN                ? HZ3_ADOPT_MIN / HZ3_UNIT - 1
                                                      : 0
};

/* Whether p, in this window and of class cls, has to go home. */
HZ3_INLINE bool hz3_goes_home(const struct hz3_window *window, const void *p, unsigned cls)
{
    if (HZ3_HOME_CLASSES == 0 || likely(cls > HZ3_HOME_CLASSES)) return false;
    struct hz3_tag *tags = window->tags;
    HZ3_FORGET_ORIGIN(tags); /* else the paths of other classes compute an address for this one */
    return hz3_get(tags[hz3_granule_of(window, p)].owner) != hz3_thread.cache.owner;
}

/* Frees p by one store into an outgoing magazine that has room.  False: nothing was changed; use hz3_remote_free.  For
 * both, p's state byte is cleared already. */
HZ3_INLINE bool hz3_remote_free_quick(void *p, unsigned cls, unsigned owner)
{
    if (HZ3_OUTGOING == 0 || unlikely(!hz3_outbox)) return false;
    unsigned key = hz3_outgoing_key(cls, owner);
    void ***slot = hz3_outgoing_slot(hz3_outbox, key);
    if (unlikely(hz3_magazine_of(*slot)->header.key != key || hz3_is_full(*slot))) return false;
    (*slot)[1] = p;
    ++*slot;
    return true;
}

/* Frees p in every case: by a slow path, which may send the outgoing magazine. */
void hz3_remote_free(void *p, unsigned cls, unsigned owner);
