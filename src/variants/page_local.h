/* Page-local remote frees (work order S121): they are noted in the run itself.  A remote free sets the object's bit in
 * a second bitmap of its run.  The first one also announces the run to its owner, which retires what was noted when it
 * next runs out of objects.  This takes one or two read-modify-writes for each object, and nothing ever waits with the
 * sender. */
#ifndef HZ3_VARIANTS_PAGE_LOCAL_H
#define HZ3_VARIANTS_PAGE_LOCAL_H

#include "base/types.h"

/* p: an object that is handed out.  Any thread.  False: enough waits for that owner; nothing has changed. */
bool hz3_page_local_note(void *p, unsigned cls, unsigned owner);
void hz3_page_local_free(void *p, unsigned cls, unsigned owner); /* notes it, or retires it */
size_t hz3_page_local_waiting(void);
size_t hz3_page_local_collect(unsigned owner, unsigned cls);
size_t hz3_page_local_collect_all(unsigned cls);

/* From here on for any build; without the variant nothing is noted.  False: the caller still has p. */
HZ3_INLINE bool hz3_page_remote_free(void *p, unsigned cls, unsigned owner)
{
    if (HZ3_S121_PAGE_LOCAL_REMOTE) hz3_page_local_free(p, cls, owner);
    return HZ3_S121_PAGE_LOCAL_REMOTE;
}

/* Bytes of the announced runs. */
HZ3_INLINE size_t hz3_page_remote_waiting(void)
{
    return HZ3_S121_PAGE_LOCAL_REMOTE ? hz3_page_local_waiting() : 0;
}

/* Retires what was noted in the owner's runs of the class, or in those of all owners.  Any thread; returns how many. */
HZ3_INLINE size_t hz3_page_remote_collect(unsigned owner, unsigned cls)
{
    return HZ3_S121_PAGE_LOCAL_REMOTE ? hz3_page_local_collect(owner, cls) : 0;
}

HZ3_INLINE size_t hz3_page_remote_collect_all(unsigned cls)
{
    return HZ3_S121_PAGE_LOCAL_REMOTE ? hz3_page_local_collect_all(cls) : 0;
}
#endif
