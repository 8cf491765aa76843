/* A thread's outbox is made on first use, is empty then, and serves another thread once it is given up. */
#include "../unit/unit.h"

#include "middle/outbox.h"

static void it_is_made_once_and_empty(void **state)
{
    (void)state;
    assert_null(hz3_outbox);
    struct hz3_outbox *outbox = hz3_outbox_get();
    assert_non_null(outbox);
    assert_ptr_equal(hz3_outbox_get(), outbox);
    for (int i = 0; i < HZ3_OUTGOING; i++) assert_ptr_equal(outbox->outgoing[i], HZ3_STUB_TOP);
    for (int i = 0; i < HZ3_CLASS_VALUES; i++) assert_ptr_equal(outbox->onward[i], HZ3_STUB_TOP);
    for (int i = 0; i < HZ3_OUTBOX_SPILL; i++) assert_true(!outbox->spill[i].list && !outbox->spill[i].in_array);
    for (int i = 0; i < HZ3_OUTBOX_CENTRAL; i++) assert_null(outbox->central[i]);
    assert_int_equal(outbox->ring_count, 0);
}

static void it_is_empty_again_for_the_next(void **state)
{
    (void)state;
    struct hz3_outbox *outbox = hz3_outbox_get();
    outbox->ring_first = 7;
    for (int i = 0; i < HZ3_OUTBOX_RING; i++) outbox->ring[i] = outbox;
    hz3_outbox_put(outbox);
    hz3_outbox = NULL;
    assert_ptr_equal(hz3_outbox_get(), outbox);
    assert_int_equal(outbox->ring_first, 0);
    for (int i = 0; i < HZ3_OUTBOX_RING; i++) assert_null(outbox->ring[i]);
    for (int i = 0; i < HZ3_OUTGOING; i++) assert_ptr_equal(outbox->outgoing[i], HZ3_STUB_TOP);
}

RUN(cmocka_unit_test(it_is_made_once_and_empty), cmocka_unit_test(it_is_empty_again_for_the_next))
