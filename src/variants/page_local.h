/* S121: remote frees noted where the object lies.  A remote free sets the object's bit in a second bitmap of its run
 * and, if it is the first, announces the run to its owner, who retires what was noted when it next runs out.  An opt-in
 * variant: one or two read-modify-writes for each object, and nothing ever rests with the sender. */
#ifndef HZ3_VARIANTS_PAGE_LOCAL_H
#define HZ3_VARIANTS_PAGE_LOCAL_H

#include "base/types.h"

/* p: an object that is out.  Any thread.  False: enough is on its way to that owner; nothing has changed. */
bool hz3_page_local_note(void *p, unsigned cls, unsigned owner);
void hz3_page_local_free(void *p, unsigned cls, unsigned owner); /* notes it, or retires it */
size_t hz3_page_local_waiting(void);
size_t hz3_page_local_collect(unsigned owner, unsigned cls);
size_t hz3_page_local_collect_all(unsigned cls);

/* For any build; without the variant nothing waits anywhere.  False: p is still the caller's. */
HZ3_INLINE bool hz3_page_remote_free(void *p, unsigned cls, unsigned owner)
{
    if (HZ3_S121_PAGE_LOCAL_REMOTE) hz3_page_local_free(p, cls, owner);
    return HZ3_S121_PAGE_LOCAL_REMOTE;
}

/* Bytes of the runs that wait to be looked through: */
HZ3_INLINE size_t hz3_page_remote_waiting(void)
{
    return HZ3_S121_PAGE_LOCAL_REMOTE ? hz3_page_local_waiting() : 0;
}

/* Retires what was noted in the owner's runs of the class, or in everybody's.  Any thread; returns how many. */
HZ3_INLINE size_t hz3_page_remote_collect(unsigned owner, unsigned cls)
{
    return HZ3_S121_PAGE_LOCAL_REMOTE ? hz3_page_local_collect(owner, cls) : 0;
}

HZ3_INLINE size_t hz3_page_remote_collect_all(unsigned cls)
{
    return HZ3_S121_PAGE_LOCAL_REMOTE ? hz3_page_local_collect_all(cls) : 0;
}
#endif
