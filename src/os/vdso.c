#include "os/vdso.h"

#include <link.h>
#include <string.h>

/* Only the two hash tables say how many symbols there are, and a kernel may leave out one of them. */
static size_t symbol_count(const Elf_Symndx *hash, const uint32_t *gnu_hash)
{
    if (hash) return hash[1];
    uint32_t buckets = gnu_hash[0], first = gnu_hash[1], last = 0;
    const uint32_t *bucket = gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof *gnu_hash);
    const uint32_t *chain = bucket + buckets; /* a word for each symbol from `first` on; odd where a chain ends */
    for (uint32_t i = 0; i < buckets; i++) last = hz3_max(last, bucket[i]);
    if (last < first) return 0;
    while (!(chain[last - first] & 1)) last++;
    return last + 1;
}

void *hz3_vdso_function(uintptr_t image, const char *name)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(image + header->e_phoff);
    const ElfW(Dyn) *entry = NULL;
    uintptr_t bias = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD) bias = image + segment[i].p_offset - segment[i].p_vaddr;
        if (segment[i].p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)(image + segment[i].p_offset);
    }
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const Elf_Symndx *hash = NULL;
    const uint32_t *gnu_hash = NULL;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)(bias + entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) symbols = at;
        if (entry->d_tag == DT_STRTAB) names = at;
        if (entry->d_tag == DT_HASH) hash = at;
        if (entry->d_tag == DT_GNU_HASH) gnu_hash = at;
    }
    if (!symbols || !names || !(hash || gnu_hash)) return NULL;
    for (size_t i = symbol_count(hash, gnu_hash); i-- > 0;)
        if (symbols[i].st_shndx != SHN_UNDEF && !strcmp(names + symbols[i].st_name, name))
            return (void *)(bias + symbols[i].st_value);
    return NULL;
}
