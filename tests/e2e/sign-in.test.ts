import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { launchChromium, noChromium, shot } from "../browser/chromium.ts";
import { freePort } from "../fakes/free-port.ts";
import { clientId, clientSecret, type FakeOpenId, startFakeOpenId } from "../fakes/open-id.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { examine, newPlace, type Place, patienceMs } from "./program.ts";

/** People of a provider of OpenID Connect at the console: the program as it is configured and started for them. */

let browser: Browser | undefined;
let redis: TestRedis;
let place: Place;
let provider: FakeOpenId;
let port: number;
let address: string;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  redis = await startRedis();
  place = await newPlace();
  port = await freePort();
  address = `http://127.0.0.1:${port}`;
  provider = await startFakeOpenId([`${address}/sign-in/callback`], [`${address}/`]);
  provider.person = { sub: "1", email: "ada@example.com", email_verified: true, groups: ["heddle"] };
  const settings = {
    issuer: provider.issuer,
    ...{ clientId, address, groups: { heddle: "member" } },
  };
  await writeFile(
    join(place.folder, "heddle.yaml"),
    JSON.stringify({ console: { openIdConnect: settings } }),
  );
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await provider[Symbol.asyncDispose]();
  await redis.stop();
});

const environment = () => ({
  REDIS_URL: redis.path,
  HEDDLE_PORT: String(port),
  HEDDLE_OPENID_CLIENT_SECRET: clientSecret,
});
const dialogOf = (page: Page) => page.getByRole("dialog", { name: "Sign in" });

describe("a person of the provider", () => {
  test("signs in, gives work under their own name, which the audit log has, and signs out", async (context) => {
    if (!browser) return context.skip(noChromium);
    const program = place.start(["start"], environment());
    await program.line(/Heddle is ready/);
    const page = await browser.newPage();
    page.setDefaultTimeout(patienceMs);
    const offences: string[] = [];
    page.on("console", (message) => {
      // The browser itself tells of the first answer, which asks for a sign-in.
      if (message.type() === "error" && !message.text().includes("401")) offences.push(message.text());
    });
    page.on("pageerror", (error) => offences.push(String(error)));

    await page.goto(`${address}/#/usage`);
    await dialogOf(page).waitFor();
    await shot(page, "sign-in-provider");
    await page.getByRole("link", { name: "Sign in with your account" }).click();
    await page.getByRole("link", { name: "Continue" }).click();
    // Where they were going.
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await page.getByText("ada@example.com (member)").waitFor();
    expect(new URL(page.url()).hash).toBe("#/usage");

    await page.goto(`${address}/#/`);
    await page.getByLabel("Message to Heddle").fill("What can you do here? Answer in five lines");
    await page.keyboard.press("Enter");
    await page.getByText("ada@example.com", { exact: true }).first().waitFor();
    await page.locator(".message.answer").first().waitFor();
    await page.reload();
    await page.locator(".message.answer").first().waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    // By way of the provider, which has it end there, too.
    await dialogOf(page).waitFor();
    expect(provider.signedOut).toEqual(["by token"]);
    expect(new URL(page.url()).origin).toBe(address);
    expect(offences).toEqual([]);

    // Only then do entries come to an end.
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
    const log = place.start(["audit", "export", "--names"], environment());
    expect(await log.ended).toBe(0);
    const entries = log
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line): { what: string; by?: { id: string } } => JSON.parse(line))
      .filter(({ by }) => by?.id === "@ada@example.com");
    expect(entries.map(({ what }) => what)).toEqual(expect.arrayContaining(["signed-in", "asked"]));
    expect(place.outputs()).not.toContain(clientSecret);
  });

  test("whom the settings do not know is told so, and one whom the provider refuses", async (context) => {
    if (!browser) return context.skip(noChromium);
    provider.person = { ...provider.person, groups: [] };
    const program = place.start(["start", "--role", "gateway"], environment());
    await program.line(/Heddle is ready/);
    const page = await browser.newPage();
    page.setDefaultTimeout(patienceMs);
    await page.goto(address);
    await page.getByRole("link", { name: "Sign in with your account" }).click();
    await page.getByRole("link", { name: "Continue" }).click();
    await dialogOf(page).getByText("have no role here").waitFor();
    provider.faults = { answer: { error: "access_denied" } };
    await page.getByRole("link", { name: "Sign in with your account" }).click();
    await page.getByRole("link", { name: "Continue" }).click();
    await dialogOf(page).getByText("You were not signed in").waitFor();
    expect(new URL(page.url()).hash).toBe("");
  });
});

describe("a console with a provider", () => {
  test("starts on any address, and lets nobody in without a sign-in", async () => {
    const program = place.start(["start", "--role", "gateway"], {
      ...environment(),
      HEDDLE_HOST: "0.0.0.0",
    });
    await program.line(/Heddle is ready/);
    expect((await fetch(`${address}/api/v1/threads`)).status).toBe(401);
    expect((await fetch(`${address}/metrics`)).status).toBe(401);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
  });

  test("is looked at by doctor, with the address that the provider has to know", async () => {
    const examineWith = (env: Record<string, string> = {}) =>
      examine(() => place.start(["doctor"], { ...environment(), HEDDLE_HOST: "0.0.0.0", ...env }));
    const well = await examineWith();
    expect(well.output()).toMatch(/✓ console +0\.0\.0\.0:\d+ is free/);
    expect(well.output()).toContain(`which has to know the redirect URI ${address}/sign-in/callback`);
    provider.faults = { metadata: { issuer: "https://evil.example" } };
    const lying = await examineWith();
    expect(lying.output()).toMatch(/✗ console +nobody can sign in at http:\/\/localhost:\d+ \(/);
    expect(await lying.ended).toBe(1);
    const without = await examineWith({ HEDDLE_OPENID_CLIENT_SECRET: "" });
    expect(without.output()).toMatch(/✗ console .*set HEDDLE_OPENID_CLIENT_SECRET/);
  });

  test("does not start without the secret of its client", async () => {
    const program = place.start(["start"], { ...environment(), HEDDLE_OPENID_CLIENT_SECRET: "" });
    expect(await program.ended).not.toBe(0);
    expect(program.output()).toContain("set HEDDLE_OPENID_CLIENT_SECRET");
  });
});
