import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { runScript, workspace } from "./script.ts";

const files = {
  "app.log": `2026-11-20 10:40:01.123 INFO  [main] started, 0 errors found
2026-11-20 10:41:07 ERROR [pool-3] connection to db-3 refused after 5000 ms
java.lang.IllegalStateException: pool exhausted
	at Pool.acquire(Pool.java:88)
Caused by: java.net.ConnectException: refused 10.0.0.3:5432
2026-11-20 10:41:09 ERROR [pool-4] connection to db-4 refused after 5001 ms
java.lang.IllegalStateException: pool exhausted
	at Pool.acquire(Pool.java:88)
Caused by: java.net.ConnectException: refused 10.0.0.4:5432
2026-11-20 10:42:00 WARN slow query 1200 ms
2026-11-20T12:43:00+02:00 ERROR user 550e8400-e29b-41d4-a716-446655440000 not found
`,
  "app.jsonl": `{"level":50,"time":1795171270123,"msg":"cannot parse \\"x\\"","pid":1}
{"level":"info","time":"2026-11-20T10:41:10Z","msg":"no error"}
{"level":"error","time":"2026-11-20T10:41:11Z","msg":"cannot parse \\"y\\""}
`,
  "access.log": `10.0.0.1 - - [20/Nov/2026:10:41:30 +0000] "GET /api/users/17?x=1 HTTP/1.1" 502 120 "-" "curl"
10.0.0.2 - - [20/Nov/2026:10:41:31 +0000] "GET /api/users/18 HTTP/1.1" 502 120 "-" "curl"
10.0.0.3 - - [20/Nov/2026:10:41:32 +0000] "GET / HTTP/1.1" 200 120 "-" "curl"
`,
  "sys.log.gz": gzipSync("Nov 20 10:41:05 host kernel: Out of memory: Killed process 123 (postgres)\n"),
  "klog.log": "E1120 10:41:15.000001 12 foo.go:33] sync failed: retry 3\n",
  "deploys.txt": "2026-11-20 12:38 deploy of api 4.2 by Ann\n",
};

const triage = (...args: string[]) =>
  runScript("log-triage/scripts/triage.mts", [...args, "--year", "2026"], workspace(files));
const timeline = (...args: string[]) =>
  runScript("log-triage/scripts/timeline.mts", [...args, "--year", "2026"], workspace(files));
const headings = (text: string) => text.split("\n").filter((line) => line.startsWith("#"));

describe("triage", () => {
  test("makes one group of the lines that differ in numbers only, with count, span and cause", async () => {
    const { stdout } = await triage("app.log");
    expect(stdout).toMatch(
      /^1 file, 11 lines, 2026-11-20 10:40:01 to 2026-11-20 10:43:00 UTC\n3 errors in 2 groups/,
    );
    expect(stdout).toContain(`#1  2x  2026-11-20 10:41:07 to 10:41:09  app.log
    [pool-<n>] connection to db-<n> refused after <n> ms
    app.log:2  2026-11-20 10:41:07 ERROR [pool-3] connection to db-3 refused after 5000 ms
    trace of 3 lines: Caused by: java.net.ConnectException: refused 10.0.0.3:5432
`);
    expect(stdout).not.toContain("0 errors found");
  });

  test("reads JSON lines, access logs, klog and compressed syslog, and compares their times", async () => {
    const all = ["app.log", "app.jsonl", "access.log", "sys.log.gz", "klog.log"];
    const { stdout } = await triage(...all, "--sort", "first");
    expect(headings(stdout)).toEqual([
      "#1  1x  2026-11-20 10:41:05  sys.log.gz",
      "#2  2x  2026-11-20 10:41:07 to 10:41:09  app.log",
      "#3  2x  2026-11-20 10:41:10 to 10:41:11  app.jsonl",
      "#4  1x  2026-11-20 10:41:15  klog.log",
      "#5  2x  2026-11-20 10:41:30 to 10:41:31  access.log",
      "#6  1x  2026-11-20 10:43:00  app.log",
    ]);
    expect(stdout).toContain("cannot parse <text>");
    expect(stdout).toContain("HTTP <n> /api/users/<n>");
  });

  test("makes one group of lines that differ in hexadecimal ids of any length, and keeps words", async () => {
    const ids = Array.from({ length: 300 }, (_, n) => (0x3a0020 + n * 0x4f1b7).toString(16));
    const log = [...ids, "abcdef", "300020", "3a00"].map(
      (id) => `2026-11-20 10:00:00 ERROR req ${id} failed`,
    );
    const words = ["added", "decade", "facade"].map((word) => `2026-11-20 10:00:01 ERROR req ${word} failed`);
    const { stdout } = await runScript(
      "log-triage/scripts/triage.mts",
      ["a.log"],
      workspace({ "a.log": [...log, ...words].join("\n") }),
    );
    expect(stdout).toContain("306 errors in 4 groups");
    expect(stdout).toContain("#1  303x");
  });

  test("keeps to a level and a range of time", async () => {
    expect((await triage("app.log", "--level", "warn")).stdout).toContain("WARN slow query 1200 ms");
    const { stdout } = await triage("app.log", "--since", "2026-11-20 10:42");
    expect(headings(stdout)).toEqual(["#1  1x  2026-11-20 10:43:00  app.log"]);
  });

  test("draws the errors over time", async () => {
    const { stdout } = await triage("app.log");
    expect(stdout).toMatch(/per 5 s \(UTC\)\n {2}10:41:05 █{30} 2\n {2}10:41:10 0\n/);
  });

  test("names the last line of a Python traceback as the cause", async () => {
    const log = `2026-11-20 10:00:00,123 ERROR worker job 7 failed
Traceback (most recent call last):
  File "app.py", line 3, in run
    go()
ValueError: bad id 7
`;
    const { stdout } = await runScript(
      "log-triage/scripts/triage.mts",
      ["py.log"],
      workspace({ "py.log": log }),
    );
    expect(stdout).toContain("trace of 4 lines: ValueError: bad id 7");
  });

  test("refuses what it cannot read, and times that are none", async () => {
    expect(await triage("nope.log")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot read nope\.log/),
    });
    expect(await triage("app.log", "--since", "noon")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--since is a time/),
    });
    const broken = await runScript(
      "log-triage/scripts/triage.mts",
      ["x.gz"],
      workspace({ "x.gz": "no gzip" }),
    );
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain("is it a valid .gz file?");
  });
});

describe("timeline", () => {
  test("merges files by time across zones, collapses repetitions and marks gaps", async () => {
    const { stdout } = await timeline("app.log", "db=sys.log.gz", "deploys@+02:00=deploys.txt", "--gap", "2");
    expect(stdout.split("\n").slice(0, 6)).toEqual([
      "-- 2026-11-20 (UTC)",
      "10:38:00  deploys  deploy of api 4.2 by Ann  [deploys.txt:1]",
      "   ... 2 min without events",
      "10:40:01  app      INFO  [main] started, 0 errors found  [app.log:1]",
      "10:41:05  db       host kernel: Out of memory: Killed process 123 (postgres)  [sys.log.gz:1]",
      "10:41:07  app      ERROR [pool-3] connection to db-3 refused after 5000 ms (x2, until 10:41:09)  [app.log:2]",
    ]);
  });

  test("shows the minutes around a time", async () => {
    const { stdout } = await timeline(
      "app.log",
      "access.log",
      "--around",
      "2026-11-20 10:41:30",
      "--minutes",
      "0.5",
    );
    expect(stdout.match(/^\d\d:\d\d:\d\d /gm)).toHaveLength(5);
  });

  test("refuses a file without times", async () => {
    const folder = workspace({ "notes.txt": "we saw errors\n" });
    const { code, stderr } = await runScript("log-triage/scripts/timeline.mts", ["notes.txt"], folder);
    expect(code).toBe(1);
    expect(stderr).toBe(
      "timeline.mts: notes.txt holds no line with a time; add times like 2026-11-20 10:41 to it\n",
    );
  });
});
