/* Letters: blocks that pass from thread to thread, through one mailbox.  What a letter should hold is kept beside it,
 * never in it. */
#include "support.h"

enum { MAILBOX = 256 };

struct letter {
    void *p;
    size_t size;
};

/* Puts an empty letter into each place of the mailbox; before all else. */
void mail_start(void);
struct letter *mail_new_letter(void);

/* Frees what the letter held, which must still be there, and writes `size` bytes anew.  False: there was no memory, and
 * it is empty. */
bool mail_write(struct letter *letter, size_t size);
/* One's own for whatever lies in one of the places. */
struct letter *mail_exchange(struct letter *mine, uint64_t *random);
/* What lies in the mailbox is nobody's at the moment of a fork: a child has all of it for itself, and writes it anew.
 */
void mail_write_all(size_t size);
