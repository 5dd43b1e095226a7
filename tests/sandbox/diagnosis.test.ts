import { expect, test } from "vitest";
import { diagnose } from "../../src/sandbox/bubblewrap/diagnosis.ts";
import { describeFileProblem } from "../../src/sandbox/bubblewrap/probe.ts";

const said = "bwrap: setting up uid map: Permission denied";

test.each<[string, Record<string, string>, boolean, RegExp, RegExp]>([
  [
    "AppArmor of Ubuntu 24.04",
    { "kernel/apparmor_restrict_unprivileged_userns": "1" },
    true,
    /AppArmor/,
    /apparmor-profiles/,
  ],
  [
    "a kernel that forbids user namespaces",
    { "kernel/apparmor_restrict_unprivileged_userns": "0", "kernel/unprivileged_userns_clone": "0" },
    false,
    /forbids user namespaces/,
    /sysctl -w kernel\.unprivileged_userns_clone=1/,
  ],
  [
    "a host without user namespaces",
    { "user/max_user_namespaces": "0" },
    false,
    /switched off/,
    /sysctl -w user\.max_user_namespaces/,
  ],
  [
    "a container with Docker's default profiles",
    {},
    true,
    /container's own seccomp profile/,
    /--security-opt seccomp=unconfined/,
  ],
  ["anything else", {}, false, /could not be started/, /kernel's log/],
])("%s is named with its fix", (_what, settings, isContainer, what, fix) => {
  const problem = diagnose(said, { setting: (name) => settings[name], isContainer: () => isContainer });
  expect(problem).toEqual({ what: expect.stringMatching(what), fix: expect.stringMatching(fix) });
  expect(problem.what).toContain(said);
});

test("a full disk is said in one sentence, with a fix that helps", () => {
  const full = { ok: false, reason: "disk-full", message: "a.txt does not fit: the disk is full." } as const;
  expect(describeFileProblem(full)).toEqual({
    what: "Files cannot be read and written in the sandbox: a.txt does not fit: the disk is full.",
    fix: expect.stringMatching(/^Make room on the disk of the data folder/),
  });
  const missing = { ok: false, reason: "failed", message: "The sandbox cannot run find." } as const;
  expect(describeFileProblem(missing).fix).toBe("Install GNU coreutils and findutils.");
  expect(describeFileProblem(undefined).what).toMatch(/: the content differs\.$/);
});
