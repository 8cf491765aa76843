/* A new folder for each test, to hold files that imitate the system's. */
#ifndef HZ3_UNIT_FOLDER_H
#define HZ3_UNIT_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "unit.h"

static char folder[] = "/tmp/hz3-unit-XXXXXX";

static int new_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Writes one line to folder/name, and makes the folders above it. */
static inline void write_line(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder); (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = 0;
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, new_folder, remove_folder)
#endif
