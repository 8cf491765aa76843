/* What is written when the process ends, because of HZ3_STATS and HZ3_PROFILE. */
#ifndef HZ3_API_REPORT_H
#define HZ3_API_REPORT_H

/* Registers that, and warns of files that cannot be written. */
void hz3_report_start(void);
/* Writes the statistics to the stream stderr now, as HZ3_STATS has them. */
void hz3_report_stats(void);
#endif
