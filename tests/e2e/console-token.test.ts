import { chmod, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useBrowser, useSetting } from "./hooks.ts";
import { examine, patienceMs, type Program } from "./program.ts";

/** Who needs a token on a machine, and how a person gets in: the program as it is started there. */

const here = useSetting();

const root = "root:x:0:0:root:/root:/bin/bash\n";
const mine = `me:x:${process.getuid?.()}:0::/root:/bin/bash\n`;
const bob = "bob:x:4711:4711:Bob:/home/bob:/bin/bash\n";
const start = ["start", "--role", "gateway"];
const settings = () => ({ REDIS_URL: here.redis.path, HEDDLE_CONSOLE_OPEN: "" });
const link = async (program: Program) => {
  await program.line(/Heddle is ready/);
  return /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
};
const status = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(new URL("/api/status", url), { headers })).status;
const signIn = async (url: string, code: string) =>
  await fetch(new URL("/api/session", url), { method: "POST", headers: { authorization: `Bearer ${code}` } });

describe("the console of a machine", () => {
  test("that one person uses asks for nothing", async () => {
    const url = await link(await here.place.startAmong(root + mine, start, settings()));
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await status(url)).toBe(200);
    await expect(stat(join(here.place.folder, "data/console.token"))).rejects.toThrow("ENOENT");
  });

  test("with another account asks for a token, which the link of the start stands for once", async () => {
    const program = await here.place.startAmong(root + mine + bob, start, settings());
    const opened = await link(program);
    const code = /^http:\/\/127\.0\.0\.1:\d+\/#token=([0-9a-f]{48})$/.exec(opened)?.[1] ?? "";
    await program.line(/because the accounts of bob could use the console otherwise/);
    expect(await status(opened)).toBe(401);
    expect((await fetch(new URL("/healthz", opened))).status).toBe(200);

    const signed = await signIn(opened, code);
    expect(signed.status).toBe(204);
    const cookie = signed.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(await status(opened, { cookie })).toBe(200);
    expect((await signIn(opened, code)).status).toBe(401);

    const file = join(here.place.folder, "data/console.token");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const token = (await readFile(file, "utf8")).trim();
    expect(await status(opened, { authorization: `Bearer ${token}` })).toBe(200);
    expect(program.output()).not.toContain(token);

    // What it has been opened to by a copy is taken back, and who is signed in stays so after a restart.
    await chmod(file, 0o644);
    program.signal("SIGTERM");
    await program.ended;
    const again = await link(await here.place.startAmong(root + mine + bob, start, settings()));
    expect(again.split("#")[1]).not.toBe(opened.split("#")[1]);
    expect(await status(again, { cookie })).toBe(200);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test("with another account asks for nothing where its person says so", async () => {
    const url = await link(
      await here.place.startAmong(root + mine + bob, start, { ...settings(), HEDDLE_CONSOLE_OPEN: "1" }),
    );
    expect(await status(url)).toBe(200);
  });

  test("in a pod asks for the token that is set, and prints no link", async () => {
    const token = "a-token-of-their-own";
    const pod = { ...settings(), KUBERNETES_SERVICE_HOST: "10.0.0.1" };
    const url = await link(here.place.start(start, { ...pod, HEDDLE_CONSOLE_TOKEN: token }));
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await status(url)).toBe(401);
    expect(await status(url, { authorization: `Bearer ${token}` })).toBe(200);
  });

  test("is told of by doctor", async () => {
    const doctor = await examine(() =>
      here.place.start(["doctor"], { ...settings(), KUBERNETES_SERVICE_HOST: "10.0.0.1" }),
    );
    expect(doctor.output()).toMatch(
      /it asks for the token in \S+console\.token, because of the other containers of its pod/,
    );
  });
});

describe("the link of the start", () => {
  const chromium = useBrowser();

  test("opens the console in a browser, which keeps neither link nor code", async () => {
    const opened = await link(
      here.place.start(start, { ...settings(), KUBERNETES_SERVICE_HOST: "10.0.0.1" }),
    );
    const page = await chromium.browser.newPage();
    page.setDefaultTimeout(patienceMs);
    await page.goto(opened);
    await page.getByLabel("Message to Heddle").waitFor();
    await page.waitForURL(({ hash }) => hash === "");
    await page.reload();
    await page.getByRole("button", { name: /Write a calculator/ }).waitFor();
    expect(await page.getByRole("dialog", { name: "Sign in" }).isVisible()).toBe(false);
  });
});
