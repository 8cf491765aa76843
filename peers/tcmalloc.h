/* Read before each file of Google's tcmalloc: its crate leaves the standard names out, and a peer needs them. */
#undef TCMALLOC_INTERNAL_METHODS_ONLY
