#include "mail.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST_LETTERS = MAILBOX + 4096 };

static struct letter letters[MOST_LETTERS], *mailbox[MAILBOX];
static size_t used;

struct letter *mail_new_letter(void)
{
    size_t next = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    CHECK(next < MOST_LETTERS);
    return &letters[next];
}

void mail_start(void)
{
    for (size_t i = 0; i < MAILBOX; i++) mailbox[i] = mail_new_letter();
}

bool mail_write(struct letter *letter, size_t size)
{
    uint64_t id = (uintptr_t)letter;
    CHECK(letter->p == NULL || is_filled(letter->p, letter->size, id + letter->size));
    free(letter->p);
    letter->p = malloc(size);
    CHECK(letter->p != NULL || errno == ENOMEM);
    letter->size = size;
    if (letter->p != NULL) fill(letter->p, size, id + size);
    return letter->p != NULL;
}

struct letter *mail_exchange(struct letter *mine, uint64_t *random)
{
    return __atomic_exchange_n(&mailbox[next_random(random) % MAILBOX], mine, __ATOMIC_ACQ_REL);
}

void mail_write_all(size_t size)
{
    for (size_t i = 0; i < MAILBOX; i++) mail_write(mailbox[i], size);
}
