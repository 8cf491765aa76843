/* What is said when the process ends, as HZ3_STATS and HZ3_PROFILE ask for. */
#ifndef HZ3_API_REPORT_H
#define HZ3_API_REPORT_H

/* Registers it; warns of files that cannot be written. */
void hz3_report_start(void);
#endif
