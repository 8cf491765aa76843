/* Proves, before main, that hz3 serves this process.  Otherwise tests could pass although the preload failed. */
#include <dlfcn.h>
#include <string.h>

#include "support.h"

__attribute__((constructor)) static void prove_that_hz3_took(void)
{
    const char *(*config)(void);
    *(void **)&config = dlsym(RTLD_DEFAULT, "hz3_config_string");
    CHECK(config != NULL);
    CHECK(strncmp(config(), "hz3-config:", strlen("hz3-config:")) == 0);
}
