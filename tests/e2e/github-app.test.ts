import { createHmac } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { shot } from "../browser/chromium.ts";
import { expectAccessible } from "../browser/axe.ts";
import { poorContrast } from "../browser/visibility.ts";
import { type FakeGithub, startGithub } from "../fakes/github.ts";
import { useBrowser, useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";

/** An operator registers a GitHub App by one click: the program, a browser, and a GitHub that is another site. */

const token = "correct-horse-battery-staple";
const here = useSetting();
const chromium = useBrowser();
let github: FakeGithub;
beforeEach(async () => {
  github = await startGithub();
  github.addRepository("acme/shop");
  github.addRepository("acme/secret");
});
afterEach(() => github.close());

/** @param name which has to be free at GitHub */
async function register(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name: "Register a GitHub App" }).click();
  await page.getByRole("button", { name: /Create it on localhost/ }).click();
  const field = page.getByLabel("GitHub App name");
  expect(await field.inputValue()).toMatch(/^heddle-[0-9a-f]{8}$/);
  await field.fill(name);
  await page.getByRole("button", { name: "Create GitHub App for ada" }).click();
}

test("An App is registered, installed and seen from the console, and its keys are nowhere but sealed", async () => {
  const { port } = github;
  // Another name than the console's, so that it is another site for the browser.
  await writeFile(
    join(here.place.folder, "heddle.yaml"),
    JSON.stringify({
      githubApp: { url: `http://localhost:${port}`, apiUrl: github.origin },
      hooks: { address: "https://hooks.example", port: 0 },
      repositories: {
        shop: {
          url: `http://localhost:${port}/acme/shop`,
          kind: "github",
          apiUrl: github.origin,
          feedback: {},
        },
        other: { url: `http://localhost:${port}/acme/other`, kind: "github", apiUrl: github.origin },
      },
    }),
  );
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path, HEDDLE_CONSOLE_TOKEN: token });
  const url = (await program.line(/console +http/)).trim().split(/ +/)[1] ?? "";
  const hooks = /"?port"?: ?(\d+)/.exec(await program.line(/webhooks are received/))?.[1] ?? "";
  const page = await chromium.browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(patienceMs);
  const offences: string[] = [];
  page.on("console", (message) => {
    const isOurs = message.location().url.startsWith("http://127.0.0.1");
    if (message.type() === "error" && isOurs) offences.push(message.text());
  });
  // Signed in by a cookie that another site's navigation does not bring along.
  await page.goto(`${url}/github-app/index.html`);
  await page.getByText("The console needs its token").waitFor();
  await page.evaluate(
    `fetch("/api/v1/session", { method: "POST", headers: { authorization: "Bearer ${token}" } })`,
  );
  expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);
  offences.length = 0;
  await page.goto(`${url}/#/connect`);
  await register(page, "heddle-acme");
  await page.getByText("heddle-acme is registered and stored.").waitFor();
  // The code is for one time, and belongs into no history.
  expect(page.url()).toBe(`${url}/github-app/index.html`);
  await shot(page, "github-app-registered");
  expect(await poorContrast(page)).toEqual({});

  await page.getByRole("link", { name: "Install it" }).click();
  await page.getByLabel("acme/shop").check();
  await page.getByRole("button", { name: "Install" }).click();
  await page.getByText("ada: acme/shop").waitFor();
  await page.getByText("acme/other stands in the settings, and the App does not reach it").waitFor();
  await shot(page, "github-app-installed");
  expect(await poorContrast(page)).toEqual({});
  await expectAccessible(page, "an App that is registered and installed");

  const [manifest] = github.appPages.manifests;
  expect(manifest).toMatchObject({
    public: false,
    redirect_url: `${url}/github-app/index.html`,
    hook_attributes: { url: "https://hooks.example/hooks/app/github" },
    default_permissions: { contents: "write", pull_requests: "write", checks: "read" },
  });
  const secret = github.appPages.secrets.at(-1) ?? "";
  const hook = async (key: string) => {
    const body = JSON.stringify({ repository: { full_name: "acme/shop" } });
    const signature = `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;
    const headers = { "x-hub-signature-256": signature, "x-github-delivery": "d", "x-github-event": "ping" };
    return (await fetch(`http://127.0.0.1:${hooks}/hooks/app/github`, { method: "POST", headers, body }))
      .status;
  };
  expect([await hook(secret), await hook("another-secret")]).toEqual([200, 401]);

  const kept = [here.place.outputs(), await page.content(), ...(await dump()), ...(await files())].join("\n");
  const parts = github.appPages.secrets.flatMap((each) => [each, ...each.split("\n").filter(isKeyLine)]);
  for (const part of [...parts, ...github.issued]) expect(kept).not.toContain(part);

  // A name that is taken is GitHub's to say; and it can be forgotten, and begun again.
  await page.getByRole("button", { name: "Forget it" }).click();
  await page.getByRole("link", { name: "there" }).waitFor();
  await expectAccessible(page, "an App that is about to be forgotten");
  await page.getByRole("button", { name: "Forget its keys" }).click();
  await register(page, "heddle-acme");
  await page.getByText("Name has already been taken").waitFor();
  await page.getByLabel("GitHub App name").fill("heddle-two");
  await page.getByRole("button", { name: "Create GitHub App for ada" }).click();
  await page.getByText("heddle-two is registered and stored.").waitFor();
  expect(await hook(secret)).toBe(401);
  expect(offences).toEqual([]);
});

const isKeyLine = (line: string) => /^[A-Za-z\d+/]{40,}/.test(line);

/** Everything that Redis holds, as far as it is text. */
async function dump(): Promise<string[]> {
  const client = here.redis.client();
  const values = (await client.keys("*")).map(async (key) => [
    key,
    (await client.dumpBuffer(key))?.toString("latin1") ?? "",
  ]);
  return (await Promise.all(values)).flat();
}

async function files(): Promise<string[]> {
  const entries = await readdir(here.place.folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return await Promise.all(paths.map((path) => readFile(path, "latin1")));
}
