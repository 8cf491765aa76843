#!/usr/bin/env escript
%% Processes, binaries and tables, with Erlang's own allocators off (+Mea min).  Argument: the rounds.
-mode(compile).

work(Seed) ->
    Table = ets:new(t, [set]),
    [ets:insert(Table, {N, binary:copy(<<"row">>, (N * Seed) rem 300)}) || N <- lists:seq(1, 200)],
    Sizes = [byte_size(Row) || {_, Row} <- ets:tab2list(Table)],
    ets:delete(Table),
    Packed = zlib:compress(term_to_binary(lists:seq(1, Seed rem 1000))),
    lists:sum(Sizes) + erlang:crc32(zlib:uncompress(Packed)).

main([Rounds]) ->
    Self = self(),
    Round = fun(R) ->
        [spawn(fun() -> Self ! work(500 * R + N) end) || N <- lists:seq(1, 500)],
        lists:sum([receive Sum -> Sum end || _ <- lists:seq(1, 500)])
    end,
    io:format("~p~n", [lists:sum([Round(R) || R <- lists:seq(1, list_to_integer(Rounds))])]),
    io:get_line("").
