import { expect, test } from "vitest";
import { diagnose } from "../../src/sandbox/bubblewrap/diagnosis.ts";

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
