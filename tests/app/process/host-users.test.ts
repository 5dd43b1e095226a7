import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findOthersOnHost, type HostView } from "../../../src/app/process/host-users.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "heddle-host-"));
  await mkdir(join(root, "etc"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const system = [
  "root:x:0:0:root:/root:/bin/bash",
  "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin",
  "sync:x:4:65534:sync:/bin:/bin/sync",
  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
  "build:x:1500:1500::/nonexistent:/usr/sbin/nologin",
  "unit:x:61234:61234::/:/bin/sh",
];
const ada = "ada:x:1000:1000:Ada:/home/ada:/bin/bash";
const bob = "bob:x:1001:1001:Bob:/home/bob:/usr/bin/zsh";

async function others(accounts: string[], view: Partial<HostView> = {}): Promise<string | undefined> {
  await writeFile(join(root, "etc/passwd"), `${[...system, ...accounts].join("\n")}\n`);
  const host = { root, own: [1000], isKubernetes: false, interfaces: ["lo", "eth0"] };
  return await findOthersOnHost({ ...host, ...view });
}

test.each<[string, string[], Partial<HostView>]>([
  ["a desktop with one account", [ada], {}],
  ["a server with root alone", [], { own: [0] }],
  ["a server where its only person has become root", [ada], { own: [0, 1000] }],
])("nobody else is on %s", async (_, accounts, view) => {
  expect(await others(accounts, view)).toBeUndefined();
});

test.each<[string, string[], Partial<HostView>, string]>([
  ["a desktop of two people", [ada, bob], {}, "the accounts of bob"],
  ["a server on which root serves and a person has an account", [ada], { own: [0] }, "the accounts of ada"],
  ["a server with a system account for Heddle", [ada], { own: [998] }, "the accounts of ada"],
  ["a pod", [], { isKubernetes: true }, "the other containers of its pod"],
])("others are on %s", async (_, accounts, view, named) => {
  expect(await others(accounts, view)).toBe(named);
});

test("many accounts are counted, not all named", async () => {
  const many = Array.from({ length: 30 }, (_, n) => `user${n}:x:${2000 + n}:2000::/home/user${n}:/bin/sh`);
  expect(await others(many)).toBe("user0, user1, user2 and 27 more accounts");
});

test("accounts of an image are nobody's, and those of the host count where its network is shared", async () => {
  await writeFile(join(root, ".dockerenv"), "");
  expect(await others([ada, bob], { own: [0] })).toBeUndefined();
  expect(await others([], { interfaces: ["lo", "eth0", "docker0"] })).toBe(
    "the host, whose network this container uses,",
  );
});

test("an account that nobody can log in to is nobody's, as far as root can tell", async () => {
  await writeFile(
    join(root, "etc/shadow"),
    "root:*:20263::::::\nada:!:20263::::::\nbob:$y$j9T$x:20263::::::\n",
  );
  await mkdir(join(root, "home/ada/.ssh"), { recursive: true });
  expect(await others([ada, bob], { own: [0] })).toBe("the accounts of bob");
  expect(await others([ada], { own: [0] })).toBeUndefined();
  await writeFile(join(root, "home/ada/.ssh/authorized_keys"), "ssh-ed25519 AAAA\n");
  expect(await others([ada], { own: [0] })).toBe("the accounts of ada");
});

test("a folder shows who has an account of a directory service", async (context) => {
  context.skip(process.getuid?.() !== 0, "only root makes folders for others");
  await mkdir(join(root, "home/eve"), { recursive: true });
  await chown(join(root, "home/eve"), 200_123, 200_123);
  expect(await others([ada])).toBe("the accounts of eve");
});
