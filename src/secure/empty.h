/* HZ3_SECURE: what malloc(0) and its like return: pointers into an area that cannot be accessed, each with a bit that
 * says whether it is live.  They are handed out in turn, so one is used again after many others only. */
#pragma once

#include "base/types.h"

/* For a request of 0 bytes returns a pointer at a multiple of the alignment (a power of two).  NULL: none is left, the
 * alignment is large, or the request is not of 0 bytes. */
void *hz3_empty_alloc(size_t size, size_t alignment);
/* Whether p lies in the area. */
bool hz3_empty_has(const void *p);
/* The state of p in the area; ELSEWHERE: it is not in it. */
enum hz3_empty_state { HZ3_EMPTY_ELSEWHERE, HZ3_EMPTY_LIVE, HZ3_EMPTY_FREED, HZ3_EMPTY_INTERIOR, HZ3_EMPTY_NEVER };
enum hz3_empty_state hz3_empty_look(const void *p);
/* Frees p if it is a pointer of the area; ends the process if it is not live.  False: it lies elsewhere. */
bool hz3_empty_free(void *p);
