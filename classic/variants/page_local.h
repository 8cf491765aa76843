/* Page-local remote frees (work order S121): they are noted in the run itself.  A remote free sets the object's bit in
 * a second bitmap of its run.  The first one also announces the run to its owner, which retires what was noted when it
 * next runs out of objects.  This takes two read-modify-writes for each object, and four for one that announces.
 * Nothing ever waits with the sender. */
#pragma once

#include "base/types.h"

void hz3_page_local_note(void *p, unsigned cls, unsigned owner); /* p: an object that is handed out.  Any thread. */
/* True, where frees are noted: the caller no longer has p. */
HZ3_INLINE bool hz3_page_remote_free(void *p, unsigned cls, unsigned owner)
{
    hz3_page_local_note(p, cls, owner);
    return true;
}

/* Bytes of the announced runs. */
size_t hz3_page_remote_waiting(void);
/* Retires what was noted in the owner's runs of the class, or in those of all owners.  Any thread; returns how many. */
size_t hz3_page_remote_collect(unsigned owner, unsigned cls);
size_t hz3_page_remote_collect_all(unsigned cls);
