import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { setUpModel } from "../../src/setup/model.ts";
import { type FakeAnthropicOptions, startFakeAnthropic } from "../fakes/anthropic.ts";
import { listenForTest } from "../fakes/listen-for-test.ts";
import { newFolder, sitDown } from "./at-terminal.ts";

const key = "sk-ant-api03-secret-of-a-test-9876";
const hello = { content: [{ type: "text" as const, text: "Hello!" }] };

async function serviceWith(options: FakeAnthropicOptions = {}) {
  const service = await startFakeAnthropic({ apiKey: key, replies: () => hello, ...options });
  onTestFinished(() => service.close());
  const cwd = newFolder();
  const stored = () => parseEnv(readFileSync(join(cwd, ".env"), "utf8"));
  return { service, stored, place: { cwd, env: { ANTHROPIC_BASE_URL: service.url } } };
}

/** Anthropic with the key, and the model that is offered. */
async function choosesDefault(person: ReturnType<typeof sitDown>): Promise<void> {
  await person.sees("Number [1]: ");
  person.types("1");
  await person.sees("Key: ");
  person.types(key);
  await person.sees("[anthropic/claude-sonnet-5-5]: ");
  person.types("");
}

test("a key is tried at once with one small request and stored with the model", async () => {
  const { service, stored, place } = await serviceWith();
  const person = sitDown(setUpModel, place);
  await person.sees("Number [1]: ");
  person.types("1");
  await person.sees("Key: ");
  person.types(`export ANTHROPIC_API_KEY="${key}"`);
  await person.sees("Key …9876");
  await person.sees("[anthropic/claude-sonnet-5-5]: ");
  person.types("");
  expect(await person.result).toMatchObject({
    state: "ready",
    text: expect.stringContaining("anthropic/claude-sonnet-5-5 answered “Hello!”"),
  });
  expect(stored()).toEqual({ ANTHROPIC_API_KEY: key, HEDDLE_MODEL: "anthropic/claude-sonnet-5-5" });
  expect(service.bodies).toHaveLength(1);
  expect(person.transcript()).not.toContain(key);
});

test("a wrong key and an unknown model are told apart, and asked for again", async () => {
  const { stored, place } = await serviceWith();
  const person = sitDown(setUpModel, place);
  await person.sees("Number [1]: ");
  person.types("1");
  await person.sees("Key: ");
  person.types("sk-ant-wrong-key");
  await person.sees("[anthropic/claude-sonnet-5-5]: ");
  person.types("claude-nonsense");
  await person.sees("ANTHROPIC_API_KEY was refused");
  await person.sees("Key: ");
  person.types(key);
  await person.sees("has no model anthropic/claude-nonsense");
  await person.sees("[anthropic/claude-sonnet-5-5]: ");
  person.types("claude-haiku-4-5");
  expect(await person.result).toMatchObject({ state: "ready" });
  expect(stored()).toMatchObject({ HEDDLE_MODEL: "anthropic/claude-haiku-4-5" });
});

test("a token of another service is named and goes to no model", async () => {
  const { service, stored, place } = await serviceWith();
  const person = sitDown(setUpModel, place);
  await person.sees("Number [1]: ");
  person.types("1");
  await person.sees("Key: ");
  person.types("xoxb-1-2-token");
  await person.sees("That is Slack's bot token.");
  await person.sees("Key: ");
  person.types(key);
  await person.sees("[anthropic/claude-sonnet-5-5]: ");
  person.types("");
  expect(await person.result).toMatchObject({ state: "ready" });
  expect(stored()).toMatchObject({ ANTHROPIC_API_KEY: key });
  expect(service.bodies).toHaveLength(1);
});

test("an account without credit is told as such, and the key may be saved all the same", async () => {
  const message = "Your credit balance is too low to access the Anthropic API.";
  const { stored, place } = await serviceWith({
    replies: () => ({ status: 400, type: "invalid_request_error", message }),
  });
  const person = sitDown(setUpModel, place);
  await choosesDefault(person);
  await person.sees("credit");
  await person.sees("Number [1]: ");
  person.types("2");
  expect(await person.result).toMatchObject({ state: "failed" });
  expect(stored()).toMatchObject({ ANTHROPIC_API_KEY: key });
});

test("a web page in place of the service is named, and neither another key nor another model is asked for", async () => {
  const page = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
  });
  const { place } = await serviceWith();
  const env = { ANTHROPIC_BASE_URL: await listenForTest(page) };
  const person = sitDown(setUpModel, { ...place, env });
  await choosesDefault(person);
  await person.sees("A web page came in place of the model's reply");
  await person.sees("Number [1]: ");
  person.types("3");
  expect(await person.result).toMatchObject({ state: "failed" });
});

test("a service that does not answer is given up in time, and nothing is stored", async () => {
  const { place } = await serviceWith({ replies: () => ({ ...hello, breaks: { after: 0, how: "stall" } }) });
  const person = sitDown(setUpModel, { ...place, patienceMs: 600 });
  await choosesDefault(person);
  await person.sees("did not answer within 0.6 s");
  await person.sees("Number [1]: ");
  person.types("3");
  expect(await person.result).toMatchObject({ state: "failed" });
  expect(() => readFileSync(join(place.cwd, ".env"))).toThrow("ENOENT");
});

test("a second run tries what is set and keeps it at Enter; the demo model stands in the way of no later key", async () => {
  const { stored, place } = await serviceWith();
  const env = { ...place.env, ANTHROPIC_API_KEY: key };
  const person = sitDown(setUpModel, { ...place, env });
  await person.sees("Trying anthropic/claude-sonnet-5-5 with one small request …");
  await person.sees("✓ anthropic/claude-sonnet-5-5 answered");
  await person.sees("Number [1]: ");
  person.types("");
  expect(await person.result).toMatchObject({ state: "ready" });
  const again = sitDown(setUpModel, place);
  await again.sees("Number [1]: ");
  again.types("demo");
  expect(await again.result).toMatchObject({
    state: "skipped",
    text: expect.stringContaining("until a key is set"),
  });
  // Where it is what is chosen anyway, it is not named.
  expect(existsSync(join(place.cwd, ".env"))).toBe(false);

  writeFileSync(join(place.cwd, ".env"), `ANTHROPIC_API_KEY=${key}\n`);
  const third = sitDown(setUpModel, place);
  await third.sees("Number [1]: ");
  third.types("demo");
  expect(await third.result).toMatchObject({ state: "skipped" });
  expect(stored()).toEqual({ ANTHROPIC_API_KEY: key, HEDDLE_MODEL: "demo" });
  const last = sitDown(setUpModel, place);
  await last.sees("Number [1]: ");
  last.types("anthropic");
  await last.sees("Key: ");
  last.types(key);
  await last.sees("[anthropic/claude-sonnet-5-5]: ");
  last.types("");
  await last.sees("Saved in");
  expect(await last.result).toMatchObject({ state: "ready" });
  const removal = sitDown(setUpModel, place);
  await removal.sees("Number [1]: ");
  removal.types("remove");
  await removal.sees(`Removed from ${join(place.cwd, ".env")}: HEDDLE_MODEL, ANTHROPIC_API_KEY.`);
  expect(await removal.result).toMatchObject({ state: "skipped" });
  expect(stored()).toEqual({});
  expect(removal.transcript()).not.toContain("Saved in");
});

test("Ctrl-C ends it at any question, and what was stored before stays", async () => {
  const { place } = await serviceWith();
  const person = sitDown(setUpModel, place);
  await person.sees("Number [1]: ");
  person.types("1");
  await person.sees("Key: ");
  person.types("\u0003");
  await expect(person.result).rejects.toMatchObject({ name: "SetupCancelled" });
});
