import { describe, expect, test } from "vitest";
import type { Author, InboundEvent } from "../../src/chat/inbound.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";

const accessFor = (rules: object = {}) => createAccess(settingsSchema.parse({ access: rules }).access);

const person = (standing: Author["standing"], id = "U1", roles: string[] = []): Author => {
  return { id, name: "Ada", standing, roles };
};

function says(platform: string, author: Author, workspace = "W"): InboundEvent {
  const thread = { platform, workspace, channel: "C", thread: "T" };
  const ref = { platform, workspace, channel: "C", message: "M" };
  return { kind: "message", thread, ref, author, text: "hi", attachments: [], addressed: "mention", at: 1 };
}

describe("Who may give work", () => {
  test.each([
    ["slack", "member", true],
    ["slack", "guest", false],
    ["slack", "external", false],
    ["slack", "bot", false],
    ["discord", "member", false],
    ["discord", "guest", false],
    ["discord", "bot", false],
    ["local", "operator", true],
  ] as const)("by default: on %s a %s: %s", (platform, standing, allowed) => {
    expect(accessFor().permission(says(platform, person(standing))).allowed).toBe(allowed);
  });

  test("on Slack guests and people of other organisations, where they are listed by kind or by name", () => {
    const guests = accessFor({ slack: { allow: ["members", "guests"] } });
    expect(guests.permission(says("slack", person("guest"))).allowed).toBe(true);
    expect(guests.permission(says("slack", person("external"))).allowed).toBe(false);
    const one = accessFor({ slack: { allow: [], users: ["U7"] } });
    expect(one.permission(says("slack", person("external", "U7"))).allowed).toBe(true);
    expect(one.permission(says("slack", person("member"))).allowed).toBe(false);
  });

  test("on Discord those of a listed server, with a listed role, or listed themselves", () => {
    const access = accessFor({ discord: { guilds: ["10"], roles: ["20"], users: ["30"] } });
    const allowed = (author: Author, guild: string) =>
      access.permission(says("discord", author, guild)).allowed;
    expect(allowed(person("member", "1"), "10")).toBe(true);
    expect(allowed(person("member", "1"), "11")).toBe(false);
    expect(allowed(person("member", "1", ["20"]), "11")).toBe(true);
    expect(allowed(person("external", "30"), "dm")).toBe(true);
    expect(allowed(person("external", "1"), "10")).toBe(false);
    expect(allowed(person("guest", "1"), "10")).toBe(false);
  });

  test("no bot that is not listed, whatever else is, and of a refusal it hears nothing", () => {
    const access = accessFor({
      administrators: ["U1"],
      slack: { users: ["U1"] },
      discord: { guilds: ["W"] },
    });
    for (const platform of ["slack", "discord", "local"]) {
      const permission = access.permission(says(platform, person("bot")));
      expect(permission).toEqual({ allowed: false, why: expect.any(String) });
    }
    expect(accessFor({ bots: ["U1"] }).permission(says("slack", person("bot"))).allowed).toBe(true);
  });

  test("a person reads why not", () => {
    expect(accessFor().permission(says("slack", person("guest")))).toMatchObject({
      reply: expect.stringContaining("as a guest"),
    });
    expect(accessFor().permission(says("discord", person("member")))).toMatchObject({
      reply: expect.stringMatching(/access\.discord, and your id is U1\.$/),
    });
    expect(accessFor().permission(says("discord", person("guest")))).toMatchObject({
      reply: expect.stringContaining("accepted the rules of this server"),
    });
  });
});

describe("Who may stop, approve and continue", () => {
  const [ada, bob, chief] = [person("member", "U1"), person("member", "U2"), person("member", "U9")];
  const rules = (who: string) => ({ administrators: ["U9"], stop: who, approve: who, continue: who });

  test.each([
    ["everyone", [true, true, true]],
    ["requester", [true, false, true]],
    ["administrators", [false, false, true]],
  ] as const)("%s", async (who, expected) => {
    const access = accessFor(rules(who));
    const people = [ada, bob, chief];
    expect(await Promise.all(people.map((by) => access.mayStop(by, async () => ["U1"])))).toEqual(expected);
    expect(people.map((by) => access.mayApprove(by, ada))).toEqual(expected);
    const continues = people.map((by) => access.mayContinue(by, async () => ["U1"]));
    expect(await Promise.all(continues)).toEqual(expected);
  });

  test("budgets are lifted by administrators, and whoever runs Heddle is one", () => {
    const access = accessFor(rules("everyone"));
    expect([ada, chief, person("operator", "console")].map(access.mayExtend)).toEqual([false, true, true]);
  });
});
