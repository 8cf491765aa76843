/* Purging: free spans give their pages back and keep their addresses.  The oldest go first; what is more than may stay
 * free goes at once.  A span that is being purged is in no list and belongs to nobody, and no lock is held. */
#pragma once

#include "back/page_map.h"
#include "back/policy.h"
#include "os/gate.h"

/* Whether a pass by age is to end here, since a fork waits for it.  What is old will be old after the fork, too. */
HZ3_INLINE bool hz3_purge_is_cut(uint32_t age)
{
    return age && !hz3_gate_is_open();
}

/* Frees an allocated span that nobody used for `age` ms, and purges it at once; returns the bytes purged. */
size_t hz3_pages_discard(struct hz3_span *span, uint32_t age, bool break_huge_pages);

/* Purges pages of an allocated span, so that they read as zero.  False: the system refused. */
bool hz3_pages_zero(uintptr_t start, size_t bytes);

/* Purges spans that have been dirty for at least `age` ms, oldest first, until at most `keep` dirty bytes are left.
 * Returns the bytes purged.  Unless `age` is 0, large spans that have been clean for as long are unmapped, and all ends
 * where a fork begins. */
size_t hz3_pages_purge(uint32_t age, size_t keep, bool break_huge_pages);

/* Called after huge pages were broken.  If that gave much back, asks the system not to make them whole again, and
 * purges clean spans once more, since the system may have filled them meanwhile. */
void hz3_pages_stay_broken(void);

/* Purges what is more than may stay free; called after each free. */
void hz3_pages_enforce_limits(void);

/* Whether the system refused, a short while ago, to take pages back (they are locked, say). */
extern HZ3_ATOMIC(uint32_t) hz3_pages_refused_at; /* ms; a hint, 0: never */
HZ3_INLINE bool hz3_pages_refused(void)
{
    uint32_t at = hz3_get(hz3_pages_refused_at);
    return unlikely(at) && (uint32_t)hz3_os_now_ms() - at < HZ3_POLICY_LATER_MS;
}
/* In a forked child: forgets the purges of other threads. */
void hz3_pages_after_fork(void);

/* To be called when `bytes` of new pages were taken: purges as many, if more is free than the growth bound allows. */
void hz3_pages_make_room(size_t bytes);

/* Takes a span that nobody uses out of the lists while this thread gives its pages back.  One at a time; the page
 * pool's lock is held. */
void hz3_pages_begin_purge(struct hz3_span *span);
/* To be called before the lock is released under which the span was filed.  If a fork came in between, the child would
 * have a purge that nobody ends. */
void hz3_pages_end_purge(void);
/* How many spans are being purged, and so are in no list. */
extern HZ3_ATOMIC(uint32_t) hz3_pages_being_purged; /* written under the page pool's lock */
/* Waits until another thread has ended a purge, if there is one, but a second at most. */
void hz3_pages_await_purge(void);
