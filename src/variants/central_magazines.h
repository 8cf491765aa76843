/* HZ3_CENTRAL_MAGAZINES: whole magazines wait at central, and serve before its runs.  They are kept under a lock for
 * each class or without one (work order S142). */
#ifndef HZ3_VARIANTS_CENTRAL_MAGAZINES_H
#define HZ3_VARIANTS_CENTRAL_MAGAZINES_H

#include "base/layout.h"
#include "middle/magazine.h"

bool hz3_central_magazines_put(unsigned cls, struct hz3_magazine *magazine);
struct hz3_magazine *hz3_central_magazines_get(unsigned cls);
void hz3_central_magazines_trim(unsigned cls, bool all);
size_t hz3_central_magazines_objects(unsigned cls);
size_t hz3_central_magazines_waiting(void);
void hz3_central_magazines_each_lock(void (*visit)(struct hz3_lock *lock));

/* From here on for any build; without the variant there are none.  Leaves a magazine here; false: there is no room. */
HZ3_INLINE bool hz3_central_put_magazine(unsigned cls, struct hz3_magazine *magazine)
{
    return HZ3_CENTRAL_MAGAZINES && hz3_central_magazines_put(cls, magazine);
}

HZ3_INLINE struct hz3_magazine *hz3_central_get_magazine(unsigned cls) /* or NULL */
{
    return HZ3_CENTRAL_MAGAZINES ? hz3_central_magazines_get(cls) : NULL;
}

/* Takes apart half of the class's magazines, or all. */
HZ3_INLINE void hz3_central_trim(unsigned cls, bool all)
{
    if (HZ3_CENTRAL_MAGAZINES) hz3_central_magazines_trim(cls, all);
}

HZ3_INLINE void hz3_central_magazines_visit(void (*visit)(struct hz3_lock *lock)) /* each lock, for fork */
{
    if (HZ3_CENTRAL_MAGAZINES) hz3_central_magazines_each_lock(visit);
}

HZ3_INLINE size_t hz3_central_cached(unsigned cls) /* objects in them */
{
    return HZ3_CENTRAL_MAGAZINES ? hz3_central_magazines_objects(cls) : 0;
}

HZ3_INLINE size_t hz3_central_waiting(void) /* bytes of all classes, magazines counted as full */
{
    return HZ3_CENTRAL_MAGAZINES ? hz3_central_magazines_waiting() : 0;
}

/* For readers outside (base/layout): a list and a comma, or nothing. */
#if HZ3_CENTRAL_MAGAZINES
extern const struct hz3_place hz3_waiting_places[];
#define HZ3_WAITING_PLACES hz3_waiting_places,
#else
#define HZ3_WAITING_PLACES
#endif
#endif
