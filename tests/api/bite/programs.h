/* Starts four programs, by vfork, posix_spawn, system and popen. */
void start_programs(void);
