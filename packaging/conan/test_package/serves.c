/* Proves that malloc is hz3's in a program that is linked with it. */
#include <hz3.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    void *p = malloc(100);
    size_t usable = hz3_malloc_usable_size(p); /* ends the process if p is not hz3's */
    puts(hz3_config_string());
    free(p);
    return usable < 100;
}
