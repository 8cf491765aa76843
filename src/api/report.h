/* The statistics on stderr, for HZ3_STATS and malloc_stats. */
#ifndef HZ3_API_REPORT_H
#define HZ3_API_REPORT_H

void hz3_report_at_exit(void);
/* Whether the file that HZ3_STATS names can be written. */
bool hz3_report_can(void);
#endif
