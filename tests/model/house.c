#include "house.h"

#include "back/arena.h"
#include "back/huge_pages.h"
#include "base/check.h"
#include "base/sizeclass.h"

enum { GRANULES = 8, AREA_BYTES = 64 << 10 };

struct hz3_class_info hz3_class_info[HZ3_CLASS_VALUES];
struct hz3_window hz3_windows[HZ3_WINDOWS_MAX];
HZ3_ATOMIC(uintptr_t) hz3_small_pages_start;
HZ3_ATOMIC(size_t) hz3_small_pages_bytes;
HZ3_ATOMIC(uint32_t) hz3_window_count;
uintptr_t hz3_magazine_area;

static struct hz3_tag tags[GRANULES];
static struct hz3_span spans[GRANULES];
static char area[AREA_BYTES] __attribute__((aligned(AREA_BYTES)));
static size_t area_used;

void model_house_start(uintptr_t arena, size_t object_bytes, unsigned objects_in_run)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct hz3_class_info *info = &hz3_class_info[cls];
        info->size = (uint32_t)object_bytes;
        info->granules = 1;
        info->objects = (uint16_t)objects_in_run;
        info->magic = (((uint64_t)1 << 40) + object_bytes - 1) / object_bytes;
        info->load = MODEL_LOAD;
    }
    for (unsigned i = 0; i < GRANULES; i++) tags[i].cls = MODEL_CLASS;
    hz3_windows[0].base = arena;
    hz3_windows[0].bytes = (size_t)GRANULES << HZ3_GRANULE_SHIFT;
    hz3_windows[0].tags = tags;
    hz3_windows[0].spans = spans;
    hz3_magazine_area = (uintptr_t)area;
}

uintptr_t hz3_arena_magazines(size_t bytes)
{
    if (area_used + bytes > AREA_BYTES) return 0;
    area_used += bytes;
    return hz3_magazine_area + area_used - bytes;
}

void hz3_misuse(const char *misuse, const void *p)
{
    model_misuse(misuse, p);
}

void hz3_assert_failed(const char *text)
{
    model_misuse(text, NULL);
}
