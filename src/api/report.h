/* What is written when the process ends, because of HZ3_STATS and HZ3_PROFILE, and before that, because of HZ3_DUMP. */
#ifndef HZ3_API_REPORT_H
#define HZ3_API_REPORT_H

#include "os/lock.h"

/* Registers that, and warns of files that cannot be written. */
void hz3_report_start(void);
/* Writes the statistics to the stream stderr now, as HZ3_STATS has them. */
void hz3_report_stats(void);

/* HZ3_DUMP is set: a slow path that holds no lock is to call hz3_report_visit, which writes what is due. */
extern HZ3_ATOMIC(bool) hz3_report_watches;
void hz3_report_visit(void);
extern struct hz3_lock hz3_report_lock; /* for fork; taken outside the gate */
#endif
