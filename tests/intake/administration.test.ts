import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openAdministration } from "../../src/app/configuration/administration.ts";
import { createLiveConfiguration } from "../../src/app/configuration/live-configuration.ts";
import { loadConfig } from "../../src/config/load.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import type { Author, InboundEvent } from "../../src/chat/inbound.ts";
import { createAccess } from "../../src/intake/access.ts";
import { type AdministerOptions, administer } from "../../src/intake/administration/administer.ts";
import { readAdminCommand } from "../../src/intake/administration/commands.ts";
import { readChanges } from "../../src/queue/stores/administration-changes.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

describe("A command of an administrator", () => {
  test.each([
    ["!allow <@U012345>", { do: "allow", people: ["U012345"] }],
    ["/deny <@!80351110224678912>, <@U0ABCDE|ada>", { do: "deny", people: ["80351110224678912", "U0ABCDE"] }],
    ["!Allow U012345", { do: "allow", people: ["U012345"] }],
    ["!people", { do: "list" }],
    ["!people reset <@U012345>", { do: "reset", people: ["U012345"] }],
    ["!channel", { do: "show" }],
    ["!channel model openai/small", { do: "set", change: { setting: "model", value: "openai/small" } }],
    [
      "!channel instructions Answer in French.\nBe brief.",
      { do: "set", change: { setting: "instructions", value: "Answer in French.\nBe brief." } },
    ],
    ["!channel verbosity Quiet", { do: "set", change: { setting: "verbosity", value: "quiet" } }],
    [" !channel budget 0.5 usd\n", { do: "set", change: { setting: "budget", value: { cost: 0.5 } } }],
    ["!channel budget $2.50", { do: "set", change: { setting: "budget", value: { cost: 2.5 } } }],
    [
      "!channel budget 200,000 tokens",
      { do: "set", change: { setting: "budget", value: { tokens: 200_000 } } },
    ],
    ["!channel budget none", { do: "set", change: { setting: "budget", value: {} } }],
    ["!channel budget default", { do: "set", change: { setting: "budget", value: "default" } }],
    ["allow <@U012345>", undefined],
    ["!allowed <@U012345>", undefined],
    ["please !deny <@U012345>", undefined],
  ])("%j is read as %j", (text, command) => {
    expect(readAdminCommand(text)).toEqual(command);
  });

  test.each([
    "!allow @ada",
    "!deny everybody but <@U012345>",
    "!allow",
    "!people reset",
    "!channel model",
    "!channel modell x",
    "!channel budget 0",
    "!channel budget -5",
    "!channel verbosity loud",
  ])("%j changes nothing and is explained", (text) => {
    expect(readAdminCommand(text)).toMatchObject({ do: "explain" });
  });
});

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => server.client().flushall());

const person = (id: string, standing: Author["standing"] = "member"): Author => {
  return { id, name: id, standing, roles: [] };
};
const chief = person("UCHIEF1");

function setting(file: object = {}) {
  const redis = server.client();
  const config = {
    ...loadConfig({}, "/nowhere"),
    settings: settingsSchema.parse({
      access: { administrators: ["UCHIEF1", "T2:UTHERE1"], denied: ["UBANNED1"] },
      modelChoices: ["anthropic/claude-haiku-4-5"],
      ...file,
    }),
  };
  const nothing = () => {};
  const started = { config, mcp: { servers: [], secrets: [] }, hash: "file" };
  const configuration = createLiveConfiguration({
    started,
    load: async () => started,
    now: Date.now,
    log: { info: nothing, warn: nothing, error: nothing },
    onSecret: nothing,
  });
  const access = createAccess(configuration.section("access"));
  const audited: object[] = [];
  const options: AdministerOptions = {
    redis,
    access,
    administration: openAdministration(configuration, redis),
    audit: (event) => void audited.push(event),
    now: Date.now,
  };
  const says = async (author: Author, text: string, place: object = {}) => {
    const at = { platform: "slack", workspace: "T1", channel: "C1" };
    const event: Extract<InboundEvent, { kind: "message" }> = {
      ...{ kind: "message", author, text, attachments: [], addressed: "mention", at: 1 },
      thread: { ...at, thread: "1", ...place },
      ref: { ...at, message: randomUUID(), ...place },
    };
    const command = readAdminCommand(text);
    if (!command) throw new Error("That is no command.");
    const answer = await administer(options, event, command);
    await configuration.change(await readChanges(redis));
    return answer;
  };
  const mayAsk = (author: Author, workspace = "T1") =>
    access.mayAsk({ platform: "slack", workspace }, author);
  return { redis, configuration, audited, says, mayAsk };
}

describe("Administrators in chat", () => {
  test("allow a guest, deny them, and let the file decide again, each in the audit log", async () => {
    const { says, mayAsk, audited } = setting();
    const guest = person("UGUEST1", "guest");
    expect(mayAsk(guest)).toBe(false);
    expect(await says(chief, "!allow <@UGUEST1>")).toEqual({
      markdown: "<@UGUEST1> may give me work from now on.",
    });
    expect([mayAsk(guest), mayAsk(guest, "T2")]).toEqual([true, false]);
    await says(chief, "!deny <@UGUEST1>");
    expect(mayAsk(guest)).toBe(false);
    expect((await says(chief, "!people")).markdown).toMatch(/^- <@UGUEST1>: denied by UCHIEF1 on \d{4}-/);
    await says(chief, "!people reset <@UGUEST1>");
    expect(audited).toMatchObject([
      {
        setting: "person",
        of: "slack:T1:UGUEST1",
        was: "as in the file",
        is: "allow",
        by: { id: "UCHIEF1" },
      },
      { was: "allow", is: "deny" },
      { was: "deny", is: "as in the file" },
    ]);
  });

  test("set what a channel has, which !channel shows with who did so", async () => {
    const { says, configuration, audited } = setting({
      channels: { "slack:T1:C1": { skills: ["csv-report"], instructions: "Of the file." } },
    });
    await says(chief, "!channel model claude-haiku-4-5");
    await says(chief, "!channel instructions Answer in French.");
    await says(chief, "!channel verbosity quiet");
    await says(chief, "!channel budget $5");
    const { settings } = configuration.current();
    expect(settings.channels["slack:T1:C1"]).toMatchObject({
      model: "anthropic/claude-haiku-4-5",
      instructions: "Answer in French.",
      verbosity: "quiet",
      skills: ["csv-report"],
    });
    expect(settings.budgets.channels["slack:T1:C1"]).toEqual({ cost: 5 });
    const shown = (await says(chief, "!channel")).markdown;
    expect(shown).toMatch(/Model\*\*: anthropic\/claude-haiku-4-5, set by UCHIEF1/);
    expect(shown).toMatch(/Budget\*\*: \$5\.00 a day, set by UCHIEF1/);
    await says(chief, "!channel instructions default");
    expect(configuration.current().settings.channels["slack:T1:C1"]?.instructions).toBe("Of the file.");
    expect(audited).toHaveLength(5);
  });

  test.each([
    ["a member", person("UADA001"), "!channel verbosity quiet"],
    ["an administrator of another workspace", person("UTHERE1"), "!deny <@UADA001>"],
    ["a bot with the id of an administrator", person("UCHIEF1", "bot"), "!allow <@UADA001>"],
    ["a member who only looks", person("UADA001"), "!people"],
  ])("%s is refused, and nothing is changed", async (_who, author, text) => {
    const { says, redis, audited } = setting();
    expect(await says(author, text)).toMatchObject({
      isRefused: true,
      markdown: expect.stringMatching(/^Only adm/),
    });
    expect([await readChanges(redis), audited]).toEqual([[], []]);
  });

  test.each([
    ["allow whom the file denies", "!allow <@UBANNED1>", "The file denies this person"],
    ["deny an administrator of the file", "!deny <@UCHIEF1>", "You cannot deny yourself"],
    [
      "choose a model that the configuration does not name",
      "!channel model openai/huge",
      "There is no model openai/huge",
    ],
    ["name people of another workspace", "!allow slack:T2:UADA001", "people of this workspace only"],
  ])("cannot %s", async (_what, text, why) => {
    const { says, redis } = setting();
    expect(await says(chief, text)).toMatchObject({
      isRefused: true,
      markdown: expect.stringContaining(why),
    });
    expect(await readChanges(redis)).toEqual([]);
  });

  test("name the workspace too at the console, which is in none", async () => {
    const { says, mayAsk } = setting();
    const operator = person("root", "operator");
    const place = { platform: "local", workspace: "console", channel: "main" };
    expect(await says(operator, "!deny U012345", place)).toMatchObject({ isRefused: true });
    expect(await says(operator, "!deny slack:T1:U012345", place)).not.toHaveProperty("isRefused");
    expect([mayAsk(person("U012345")), mayAsk(person("U012345"), "T2")]).toEqual([false, true]);
  });

  test("change nothing where the file switches that off, and what was changed stays", async () => {
    const { says, mayAsk } = setting({ administration: { chat: false } });
    expect(await says(chief, "!deny <@UADA001>")).toMatchObject({
      isRefused: true,
      markdown: expect.stringContaining("administration.chat is off"),
    });
    expect(mayAsk(person("UADA001"))).toBe(true);
  });

  test("are refused from the moment on at which the file no longer lists them", async () => {
    const { says, configuration } = setting();
    configuration.current().settings.access.administrators.length = 0;
    expect(await says(chief, "!channel verbosity quiet")).toMatchObject({ isRefused: true });
  });
});
