# The structures that lane classic has of its own, in builds with all of the orders' flags off but those that are named.
set(few "-DHZ3_NUM_SHARDS=2 -DHZ3_SMALL_NUM_SC=8")
foreach(flag HZ3_S112_FULL_DRAIN_EXCHANGE HZ3_S44_OWNER_STASH_FASTPOP HZ3_S48_OWNER_STASH_SPILL HZ3_S67_SPILL_ARRAY HZ3_S44_PREFETCH HZ3_S44_4_EARLY_PREFETCH HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT HZ3_S44_4_WALK_PREFETCH_UNCOND HZ3_REMOTE_STASH_SPARSE HZ3_REMOTE_FLUSH_BUDGET HZ3_S142_CENTRAL_LOCKFREE)
  string(APPEND few " -D${flag}=0")
endforeach()

# ---- the list ----

foreach(count 0 1)
  hz3_model(list_count_${count} list 30000 FLAGS "${few} -DHZ3_S44_OWNER_STASH_COUNT=${count}" CODE list.c)
endforeach()
hz3_mutant(list_count_0 push_relaxed variants/list.h RESULT "DATA RACE"
  EDIT "hz3_list_word(first, count + n), memory_order_release" "hz3_list_word(first, count + n), memory_order_relaxed")
hz3_mutant(list_count_0 drain_releases_only variants/list.h RESULT "DATA RACE"
  EDIT "hz3_exchange(list->head, 0, memory_order_acquire)" "hz3_exchange(list->head, 0, memory_order_release)")
hz3_mutant(list_count_0 restore_relaxed variants/list.h RESULT "DATA RACE"
  EDIT "hz3_list_word(first, n), memory_order_release" "hz3_list_word(first, n), memory_order_relaxed")
hz3_mutant(list_count_0 link_after_publish variants/list.h RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT [[        hz3_link_set(last, hz3_list_first(old));
]] ""
  "hz3_list_word(first, count + n), memory_order_release, memory_order_relaxed))"
  "hz3_list_word(first, count + n), memory_order_release, memory_order_relaxed) &&
            (hz3_link_set(last, hz3_list_first(old)), true))")
hz3_mutant(list_count_0 restore_over_pushes variants/list.h RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT "if (!hz3_cas(list->head, &empty, hz3_list_word(first, n), memory_order_release, memory_order_relaxed)) return false;"
  "(void)empty; hz3_store(list->head, hz3_list_word(first, n), memory_order_release);")
hz3_mutant(list_count_0 stale_count variants/list.h RESULT "USER ASSERT FAILED"
  EDIT [[        unsigned count = hz3_list_packed_count(old);
]] ""
  "    *retries = 0;" "    *retries = 0; unsigned count = hz3_list_packed_count(old);")

# ---- the owner stash: senders, threads of the owner's shard, and the end of threads ----

set(stash stash_orders 2000 CODE house.c central.c middle/owner_stash.c middle/magazine.c middle/outbox.c
  middle/transfer_cache.c os/lock.c variants/central_magazines.c variants/instances.c variants/linked.c)
hz3_model(stash_list_s112 ${stash}
  FLAGS "${few} -DHZ3_S112_FULL_DRAIN_EXCHANGE=1 -DHZ3_S44_OWNER_STASH_FASTPOP=1 -DHZ3_OWNER_STASH_INSTANCES=2")
hz3_model(stash_list_limit ${stash}
  FLAGS "${few} -DHZ3_S112_FULL_DRAIN_EXCHANGE=1 -DHZ3_S44_DRAIN_LIMIT=1 -DHZ3_S44_OWNER_STASH_COUNT=1")
hz3_model(stash_list_spill ${stash}
  FLAGS "${few} -DHZ3_S112_FULL_DRAIN_EXCHANGE=1 -DHZ3_S48_OWNER_STASH_SPILL=1 -DHZ3_S67_SPILL_ARRAY=1")
hz3_model(stash_list_bounded ${stash} FLAGS "${few}")
hz3_model(stash_list_early ${stash}
  FLAGS "${few} -DHZ3_S112_FULL_DRAIN_EXCHANGE=1 -DHZ3_S44_4_EARLY_PREFETCH=1 -DHZ3_S44_4_EARLY_PREFETCH_DIST=2")
hz3_model(stash_list_bounded_spill ${stash} FLAGS "${few} -DHZ3_S48_OWNER_STASH_SPILL=1 -DHZ3_S44_OWNER_STASH_COUNT=1")

# Lists: they are drained, put back, and detached by one taker.
hz3_mutant(stash_list_s112 push_relaxed variants/list.h RESULT "DATA RACE"
  EDIT "hz3_list_word(first, count + n), memory_order_release" "hz3_list_word(first, count + n), memory_order_relaxed")
hz3_mutant(stash_list_s112 drain_releases_only variants/list.h RESULT "DATA RACE"
  EDIT "hz3_exchange(list->head, 0, memory_order_acquire)" "hz3_exchange(list->head, 0, memory_order_release)")
hz3_mutant(stash_list_s112 put_back_over_pushes variants/list.h RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT "if (!hz3_cas(list->head, &empty, hz3_list_word(first, n), memory_order_release, memory_order_relaxed)) return false;"
  "(void)empty; hz3_store(list->head, hz3_list_word(first, n), memory_order_release);")
hz3_mutant(stash_list_bounded many_takers variants/linked.h RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT "HZ3_STASH_ONE_TAKER = " "HZ3_STASH_ONE_TAKER = 0 && ")
hz3_mutant(stash_list_early many_lookers variants/linked.h RESULT "DATA RACE"
  EDIT "!HZ3_S112_FULL_DRAIN_EXCHANGE || HZ3_S44_4_EARLY_PREFETCH_DIST > 1" "!HZ3_S112_FULL_DRAIN_EXCHANGE")
hz3_mutant(stash_list_bounded home_without_the_lock variants/linked.c RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT "if (HZ3_STASH_ONE_TAKER && !hz3_trylock(&stash->taker)) return 0;" ""
  "    if (HZ3_STASH_ONE_TAKER) hz3_unlock(&stash->taker);
    return retire_list" "    return retire_list")
hz3_mutant(stash_list_bounded detach_relaxed variants/linked.c RESULT "DATA RACE"
  EDIT "uint64_t head = hz3_load(list->head, memory_order_acquire), left" "uint64_t head = hz3_get(list->head), left"
  "&head, left, memory_order_acquire, memory_order_acquire" "&head, left, memory_order_relaxed, memory_order_relaxed")
hz3_mutant(stash_list_bounded stale_count variants/linked.c RESULT "USER ASSERT FAILED"
  EDIT "left = hz3_list_word(beyond, count - hz3_min(count, got + more));" "left = hz3_list_word(beyond, count);")
hz3_mutant(stash_list_bounded taker_unlocks_relaxed os/lock.h RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT "hz3_exchange(lock->word, 0, memory_order_release)" "hz3_exchange(lock->word, 0, memory_order_relaxed)")
hz3_mutant(stash_list_bounded_spill spill_lost_at_exit variants/linked.c RESULT "USER ASSERT FAILED"
  EDIT "flushed += retire_list(spill->list, cls);" "")
hz3_mutant(stash_list_spill array_kept_at_exit variants/linked.c RESULT "DATA RACE" "USER ASSERT FAILED"
  EDIT "    if (spill->in_array) hz3_central_retire" "    if (spill->in_array > 1) hz3_central_retire")
hz3_mutant(stash_list_bounded_spill rest_lost variants/linked.c RESULT "USER ASSERT FAILED"
  EDIT "    spill->list = object;" "    spill->list = NULL;")
hz3_mutant(stash_list_limit rest_lost variants/linked.c RESULT "USER ASSERT FAILED"
  EDIT "if (rest) keep_or_put_back" "if (!rest) keep_or_put_back")

# Instances.
hz3_mutant(stash_list_s112 one_instance_counted middle/owner_stash.c RESULT "USER ASSERT FAILED"
  EDIT "        if (hz3_get(stashes[owner].bin[i][cls].head)) return true;" "        return hz3_get(stashes[owner].bin[0][cls].head);")
hz3_mutant(stash_list_s112 one_instance_goes_home middle/owner_stash.c RESULT "USER ASSERT FAILED"
  EDIT "for (unsigned i = 0; i < hz3_instances(); i++) trim_bin" "for (unsigned i = 0; i < 1; i++) trim_bin")
hz3_mutant(stash_list_s112 pushes_beyond_the_instances variants/instances.h RESULT "USER ASSERT FAILED"
  EDIT "hash >> 16 & (hz3_instances() - 1)" "hash >> 16 & hz3_instances()")

# ---- page-local remote frees: objects recorded in their runs ----

hz3_model(page_remote page_remote 10000 FLAGS "${few} -DHZ3_S121_PAGE_LOCAL_REMOTE=1" CODE house.c pages.c central.c
  back/run.c back/fresh.c variants/page_local.c middle/magazine.c os/lock.c)
hz3_mutant(page_remote note_relaxed variants/page_local.c RESULT "DATA RACE"
  EDIT "bit, memory_order_release" "bit, memory_order_relaxed"
  "hz3_exchange(run->notes->announced, true, memory_order_acq_rel)" "hz3_exchange(run->notes->announced, true, memory_order_relaxed)")
hz3_mutant(page_remote mark_taken_last variants/page_local.c RESULT "USER ASSERT FAILED"
  EDIT "        hz3_exchange(run->notes->announced, false, memory_order_acq_rel);
        retired += retire_noted(run);" "        retired += retire_noted(run);
        hz3_exchange(run->notes->announced, false, memory_order_acq_rel);")
hz3_mutant(page_remote mark_relaxed variants/page_local.c RESULT "USER ASSERT FAILED"
  EDIT "hz3_exchange(run->notes->announced, false, memory_order_acq_rel)" "hz3_exchange(run->notes->announced, false, memory_order_relaxed)")
hz3_mutant(page_remote next_read_after_the_mark variants/page_local.c RESULT "USER ASSERT FAILED" "LIVELOCK"
  EDIT "        next = run->notes->next; /* read before the run may be announced again */
" ""
  "        retired += retire_noted(run);
    }" "        retired += retire_noted(run);
        next = run->notes->next;
    }")
hz3_mutant(page_remote list_taken_twice variants/page_local.c RESULT "USER ASSERT FAILED" "LIVELOCK" "DATA RACE"
  EDIT "hz3_exchange(announced[owner][cls], NULL, memory_order_acquire)" "hz3_get(announced[owner][cls])")
