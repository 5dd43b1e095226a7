import { describe, expect, test } from "vitest";
import type { Author, InboundEvent } from "../../src/chat/inbound.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";

const accessFor = (rules: object = {}) => createAccess(settingsSchema.parse({ access: rules }).access);

const person = (standing: Author["standing"], id = "U1", roles: string[] = []): Author => {
  return { id, name: "Ada", standing, roles };
};

const here = { platform: "slack", workspace: "T1" };

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

  test("somebody of whom Slack tells nothing is told why, and may do no more than a guest", () => {
    const unseen = { ...person("guest"), unseenFor: "users:read" };
    expect(accessFor().permission(says("slack", unseen))).toMatchObject({
      allowed: false,
      reply: "I cannot see who you are; whoever runs me must grant users:read.",
    });
    expect(accessFor().permission(says("slack", person("guest")))).toMatchObject({
      reply: expect.stringContaining("you are here as a guest"),
    });
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
    expect(accessFor().permission(says("slack", person("external")))).toMatchObject({
      reply: expect.stringContaining("as a visitor from another organisation"),
    });
    expect(accessFor().permission(says("discord", person("member")))).toMatchObject({
      reply: expect.stringMatching(/access\.discord, and your id is U1\.$/),
    });
    expect(accessFor().permission(says("discord", person("guest")))).toMatchObject({
      reply: expect.stringContaining("accepted the rules of this server"),
    });
  });
});

test.each([
  ["operator", ["read", "oversee", "work", "operate"]],
  ["member", ["read", "work"]],
  ["viewer", ["read", "oversee"]],
] as const)("At the console a person who is %s may %j", (role, allowed) => {
  const access = accessFor();
  const acts = ["read", "oversee", "work", "operate", "read-direct"] as const;
  expect(acts.filter((act) => access.mayUse(role, act))).toEqual(allowed);
  expect(accessFor({ directMessages: [role] }).mayUse(role, "read-direct")).toBe(true);
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
    const stops = people.map((by) => access.mayStop(here, by, async () => ["U1"]));
    expect(await Promise.all(stops)).toEqual(expected);
    expect(people.map((by) => access.mayApprove(here, by, ada))).toEqual(expected);
    const continues = people.map((by) => access.mayContinue(here, by, async () => ["U1"]));
    expect(await Promise.all(continues)).toEqual(expected);
  });

  test("budgets are lifted by administrators, and whoever runs Heddle is one", () => {
    const access = accessFor(rules("everyone"));
    const people = [ada, chief, person("operator", "console")];
    for (const share of ["own", "everybody"] as const)
      expect(people.map((by) => access.mayExtend(here, by, share))).toEqual([false, true, true]);
  });
});

describe("Whoever is listed for one workspace", () => {
  const there = { platform: "slack", workspace: "T2" };
  /** Slack calls a person's id "unique to the workspace": https://docs.slack.dev/reference/objects/user-object */
  const one = person("guest");
  const access = accessFor({
    administrators: ["T1:U1"],
    slack: { users: ["T1:U2"] },
    discord: { users: ["10:U3"] },
    bots: ["T1:U4"],
    ...{ stop: "administrators", approve: "administrators", continue: "administrators" },
  });

  test.each([
    ["slack", "U1", "guest"],
    ["slack", "U2", "guest"],
    ["slack", "U4", "bot"],
  ] as const)("may ask there and not in another: on %s %s (%s)", (platform, id, standing) => {
    const may = (workspace: string) =>
      access.permission(says(platform, person(standing, id), workspace)).allowed;
    expect([may("T1"), may("T2")]).toEqual([true, false]);
    const mayAsk = (workspace: string) => access.mayAsk({ platform, workspace }, person(standing, id));
    expect([mayAsk("T1"), mayAsk("T2")]).toEqual([true, false]);
  });

  test("may ask in that server of Discord, and neither in another nor in direct messages", () => {
    const may = (workspace: string) =>
      access.permission(says("discord", person("member", "U3"), workspace)).allowed;
    expect(["10", "11", "dm"].map(may)).toEqual([true, false, false]);
  });

  test("is an administrator there and not in another", async () => {
    const nobody = async () => [];
    for (const [place, may] of [
      [here, true],
      [there, false],
    ] as const) {
      expect(await access.mayStop(place, one, nobody)).toBe(may);
      expect(await access.mayContinue(place, one, nobody)).toBe(may);
      expect(access.mayApprove(place, one, person("member", "U8"))).toBe(may);
      expect(access.mayExtend(place, one, "own")).toBe(may);
    }
  });

  test("cannot extend the budget that all workspaces share", () => {
    expect(access.mayExtend(here, one, "everybody")).toBe(false);
  });

  test("is called by its questions only", () => {
    const question = { kind: "approval", requester: person("member", "U8") } as const;
    expect(access.deciders(here, question)).toEqual(["U1"]);
    expect(access.deciders(there, question)).toEqual([]);
    const everywhere = accessFor({ administrators: ["U9", "T2:U1"], approve: "administrators" });
    expect(everywhere.deciders(here, question)).toEqual(["U9"]);
    expect(everywhere.deciders(there, question)).toEqual(["U9", "U1"]);
  });
});
