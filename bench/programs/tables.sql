create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < @WORK@)
insert into t select i, printf('%x-%d', i * 7919 % 65521, i), i * 0.5 from n;
create index tb on t(b);
select count(*), sum(length(x.b)) from t x join t y on x.b = y.b where x.a % 3 = 0;
select substr(b, 1, 2) k, count(*), avg(c) from t group by k order by k limit 5;
select count(*), max(length(w)) from (select group_concat(b, '/') w from t group by a % 5000);
