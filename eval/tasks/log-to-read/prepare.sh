{
  for i in $(seq 100 160); do printf '2026-03-02T01:%02d:00Z info  req=%s done status=200\n' $((i - 100)) "r$i"; done
  cat <<'L'
2026-03-02T02:00:10Z warn  req=r161 slow query ms=2100
2026-03-02T02:00:12Z info  req=r161 done status=200
2026-03-02T02:01:00Z error req=r162 invalid token status=401
2026-03-02T02:03:41Z info  req=r163 import of 80000 rows begins
2026-03-02T02:03:59Z error req=r163 transaction aborted, its lock on table orders was not released status=500
2026-03-02T02:04:02Z error req=r164 waiting for lock on table orders, held by r163: time-out status=500
2026-03-02T02:04:03Z error req=r164 retry: waiting for lock on table orders, held by r163: time-out status=500
2026-03-02T02:04:09Z info  req=r165 done status=200
2026-03-02T02:04:20Z error req=r166 waiting for lock on table orders, held by r163: time-out status=500
2026-03-02T02:05:01Z error req=r167 waiting for lock on table orders, held by r163: time-out status=500
2026-03-02T02:06:00Z warn  database restarted by operator
2026-03-02T02:06:05Z info  req=r168 done status=200
L
  for i in $(seq 169 240); do printf '2026-03-02T02:%02d:30Z info  req=%s done status=200\n' $((7 + (i - 169) / 2)) "r$i"; done
} > app.log
