import { describe, expect, test } from "vitest";
import { runScript, workspace } from "./script.ts";

const script = "meeting-notes/scripts/notes.mts";

const source = `[10:00] Ann Lee: Welcome. Numbers are up 12% to 4,200 users.
[10:01] Bob: We decided last week to use Postgres. Everyone still fine?
[10:02] Chidi: Yes, agreed.
[10:03] Ann Lee: I'll send the cost figures to Bob by Friday.
[10:04] Bob: Does the vendor allow two regions?
[10:05] Chidi: We should rotate the signing keys. There is a risk.
`;

const minutes = `# Weekly sync

## Summary
We have 4200 users.

## Decisions
- Use Postgres for the queue. [L2-L3]

## Actions
- [ ] Ann: send the cost figures to Bob — due 2026-11-27 [L4]
- [ ] nobody yet: rotate the signing keys — no date [L6]

## Open questions
- Does the vendor allow two regions? [L5]
`;

const candidates = (text: string) =>
  runScript(script, ["candidates", "source.txt"], workspace({ "source.txt": text }));
const check = (text: string) =>
  runScript(
    script,
    ["check", "minutes.md", "--source", "source.txt"],
    workspace({ "minutes.md": text, "source.txt": source }),
  );

describe("candidates", () => {
  test("are listed by kind with the numbers of their lines, and who spoke", async () => {
    const { stdout } = await candidates(source);
    expect(stdout).toContain("6 lines; spoke: Ann Lee (2), Bob (2), Chidi (2)\n");
    expect(stdout).toContain("Decisions (2)\n  L2    [10:01] Bob: We decided last week");
    expect(stdout).toMatch(/Actions \(2\)\n {2}L4 .*\n {2}L6 /);
    expect(stdout).toContain("Questions (2)\n");
    expect(stdout).toContain("by friday (L4)");
    expect(stdout).toContain("12% (L1), 4,200 users (L1)");
  });

  test("are found in captions, whose numbers and times are no text", async () => {
    const captions = "WEBVTT\n\n1\n00:00:01.000 --> 00:00:03.000\n<v Ann>We agreed to ship.</v>\n";
    const { stdout } = await candidates(captions);
    expect(stdout).toContain("spoke: Ann (1)");
    expect(stdout).toContain("Decisions (1)\n  L5 ");
    expect(stdout).toContain("Figures (0)");
  });
});

describe("check", () => {
  test("passes minutes that the source backs", async () => {
    const { code, stdout } = await check(minutes);
    expect(stdout).toBe("sound: 1 decisions, 2 actions, 1 open questions; all cite their source\n");
    expect(code).toBe(0);
  });

  test("passes empty sections that say so", async () => {
    const empty = "## Decisions\nnone\n\n## Actions\nnone\n\n## Open questions\nnone\n";
    expect(await check(empty)).toMatchObject({ code: 0 });
  });

  test.for([
    [
      "an item without a citation",
      "- Use Postgres for the queue. [L2-L3]",
      "- Use Postgres.",
      /:7: no line of the source is cited/,
    ],
    ["a line that is not there", "[L5]", "[L9]", /:14: \[L9\] is not in the source, which has 6 lines/],
    [
      "an owner that nobody named",
      "Ann: send",
      "Dave: send",
      /:10: the source does not name Dave; write nobody yet/,
    ],
    ["a date that nobody gave", "— no date [L6]", "— due Monday [L6]", /:11: the cited lines name no date/],
    [
      "a figure that nobody said",
      "for the queue.",
      "for 5000 queues.",
      /:7: the figure 5000 is not in the cited lines/,
    ],
    ["an action in another form", "- [ ] Ann: send", "- Ann will send", /:10: an action reads: /],
    [
      "a section that is missing",
      "## Open questions",
      "## Questions",
      /the section ## Open questions is missing/,
    ],
  ] as const)("reports %s", async ([, right, wrong, fault]) => {
    const { code, stdout } = await check(minutes.replace(right, wrong));
    expect(stdout).toMatch(fault);
    expect(stdout).toMatch(/\n1 fault\n$/);
    expect(code).toBe(1);
  });

  test("takes a figure in another way of writing", async () => {
    expect(
      await check(minutes.replace("Use Postgres for the queue. [L2-L3]", "We have 4200 users [L1]")),
    ).toMatchObject({ code: 0 });
  });
});
