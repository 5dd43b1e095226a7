echo '{"cause": "r163", "failed": 5, "recovered_at": "2026-03-02T02:06:05Z"}' > answer.json
