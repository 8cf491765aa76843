/* Letters are blocks that pass from thread to thread, through one mailbox.  A letter's expected content is kept beside
 * it, never in it. */
#include "support.h"

enum { MAILBOX = 256 };

struct letter {
    void *p;
    size_t size;
};

/* Puts an empty letter into each place of the mailbox.  Has to be called first. */
void mail_start(void);
struct letter *mail_new_letter(void);

/* Checks and frees the letter's block, and writes a new one of `size` bytes.  Returns false if there was no memory;
 * then the letter is empty. */
bool mail_write(struct letter *letter, size_t size);
/* Exchanges a letter for the one in some place of the mailbox. */
struct letter *mail_exchange(struct letter *mine, uint64_t *random);
/* For a child.  No thread owns the letters in the mailbox when the process forks, so the child may write all anew.
 */
void mail_write_all(size_t size);
