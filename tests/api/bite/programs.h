/* Starts four programs, in every way there is: vfork, posix_spawn, system and popen. */
void start_programs(void);
