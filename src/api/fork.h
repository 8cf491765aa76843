/* fork: the gate is closed across it, so that every structure is whole in the child.  The child takes over what the
 * parent's other threads had cached. */
#pragma once

/* For pthread_atfork. */
void hz3_fork_prepare(void);
void hz3_fork_parent(void);
void hz3_fork_child(void);
