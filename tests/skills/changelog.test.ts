import { describe, expect, test } from "vitest";
import { repositoryWith, runScript, workspace } from "./script.ts";

const script = "changelog/scripts/changes.mts";

const history = () =>
  repositoryWith([
    { subject: "Initial commit", tag: "v1.4.0" },
    { subject: "feat(api): list users (#12)" },
    { subject: "fix: keep rows with line breaks (#13)", author: "Bob" },
    { subject: "feat!: drop the v1 endpoints", body: "BREAKING CHANGE: use /v2\neverywhere.\n\nMore text." },
    { subject: "Add dark mode", files: { "web/dark.css": "a {}\n" } },
    { subject: "Speed up search" },
    { subject: 'Revert "Speed up search"', body: "It was slower." },
    { subject: "Bump lodash from 1.0.0 to 1.0.1" },
    { subject: "Fix CVE-2026-1234 in the parser" },
    { subject: "refactor: tidy up" },
  ]);

describe("the draft of a changelog", () => {
  test("groups the commits since the last tag, and proposes a version", async () => {
    const { stdout } = await runScript(script, [await history()], workspace());
    const plain = stdout.replaceAll(/[0-9a-f]{7,}/g, "ID");
    expect(plain).toBe(`# Changes from v1.4.0 to ID

7 commits by 2 authors, 2026-11-02 to 2026-11-10

## Breaking

- drop the v1 endpoints (ID)
  breaking: use /v2 everywhere.

## Security

- Fix CVE-2026-1234 in the parser (ID)

## Added

- api: list users (#12, ID)
- Add dark mode (ID)

## Fixed

- keep rows with line breaks (#13, ID)

## Dependencies

- Bump lodash from 1.0.0 to 1.0.1 (ID)

## Internal

- tidy up (ID)

## Reverted within the range

- Speed up search (ID, reverted by ID)

## Authors

Ann (6), Bob (1)

Next version by semantic versioning: v2.0.0 (it breaks something)
`);
  });

  test("keeps to a path, a range and a date", async () => {
    const folder = await history();
    const inWeb = await runScript(script, [folder, "--path", "web"], workspace());
    expect(inWeb.stdout).toContain("1 commit by 1 author");
    const range = await runScript(script, [folder, "--from", "v1.4.0", "--to", "HEAD~7"], workspace());
    expect(range.stdout).toContain("2 commits by 2 authors");
    expect(range.stdout).toContain("v1.5.0 (it adds something)");
    const since = await runScript(script, [folder, "--since", "2026-11-08"], workspace());
    expect(since.stdout).toMatch(/^# Changes from 2026-11-08 to .*\n\n3 commits/);
  });

  test("describes a release from the tag before it", async () => {
    const folder = await repositoryWith([
      { subject: "One", tag: "v0.1.0" },
      { subject: "Fix two", tag: "v0.1.1" },
    ]);
    const { stdout } = await runScript(script, [folder, "--to", "v0.1.1"], workspace());
    expect(stdout).toContain("# Changes from v0.1.0 to v0.1.1");
    expect(stdout).toContain("v0.1.1 (fixes only)");
  });
});

test("a commit whose words say nothing is sorted by what it touches", async () => {
  const folder = await repositoryWith([
    { subject: "Start", tag: "v1.0.0" },
    { subject: "Say more of limits", files: { "docs/limits.md": "a\n" } },
    { subject: "Look twice", files: { "tests/a.test.ts": "a\n", "docs/b.md": "a\n" } },
    { subject: "Take newer ones", files: { "package-lock.json": "{}\n" } },
    { subject: "Count in bytes, no longer in characters", files: { "src/a.ts": "a\n" } },
    { subject: "Count differently", files: { "src/b.ts": "a\n", "tests/b.test.ts": "a\n" } },
    { subject: "Let people choose", files: { "src/c.ts": "a\n" } },
  ]);
  const { stdout } = await runScript(script, [folder], workspace());
  const lines = stdout.match(/^(?:## .*|- .*(?= \())/gm);
  expect(lines?.slice(0, -1)).toEqual([
    ...["## Added", "- Let people choose", "## Changed", "- Count differently"],
    ...["## Fixed", "- Count in bytes, no longer in characters"],
    ...["## Documentation", "- Say more of limits", "## Dependencies", "- Take newer ones"],
    ...["## Internal", "- Look twice"],
  ]);
});

test("a folder without a repository and an unknown reference are refused", async () => {
  const nothing = await runScript(script, ["."], workspace());
  expect(nothing.code).toBe(1);
  expect(nothing.stderr).toContain("changes.mts: . is no git repository with commits");
  const unknown = await runScript(
    script,
    [await repositoryWith([{ subject: "One" }]), "--from", "v9"],
    workspace(),
  );
  expect(unknown.stderr).toMatch(/^changes\.mts: there is no commit v9 in /);
});
