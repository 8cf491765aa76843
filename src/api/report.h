/* Writes what HZ3_STATS and HZ3_PROFILE ask for when the process ends, and what HZ3_DUMP asks for before that. */
#pragma once

#include "os/lock.h"

/* Registers the writing at exit, and warns of files that cannot be written. */
void hz3_report_start(void);
/* Writes the statistics that HZ3_STATS asks for to the stream stderr, now. */
void hz3_report_stats(void);

/* HZ3_DUMP is set: slow paths that hold no lock call hz3_report_visit, which writes what is due. */
extern HZ3_ATOMIC(bool) hz3_report_watches;
void hz3_report_visit(void);
extern struct hz3_lock hz3_report_lock; /* for fork; taken outside the gate */
