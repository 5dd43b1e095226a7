import { describe, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { createPermit } from "../../../src/app/configuration/permit.ts";
import type { Author } from "../../../src/chat/inbound.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";

const thread = "discord:G1:C1:T1";

function asks(id: string, at: number): UserMessage {
  return { role: "user", id: `m-${id}`, author: { id, name: id }, at, text: "do it" };
}

function setting({ allowed, fails = false }: { allowed: string[]; fails?: boolean }) {
  const { surface } = memoryChat();
  const access = settingsSchema.parse({ access: { discord: { users: allowed } } }).access;
  let lookUps = 0;
  let since = 0;
  const permit = createPermit({
    configuration: { since: () => since },
    access: createAccess(access),
    surface: () => ({
      ...surface,
      async person(_place, id): Promise<Author> {
        lookUps += 1;
        if (fails) throw new SurfaceError("uncertain", "away");
        return { id, name: id, standing: "member", roles: [] };
      },
    }),
  });
  return {
    permit,
    access,
    lookUps: () => lookUps,
    changed(at: number, ...users: string[]) {
      access.discord.users = users;
      since = at;
    },
  };
}

describe("A turn's next call after the access rules have changed", () => {
  test("is held back when the person may not give work any more, and asks the platform once", async () => {
    const { permit, changed, lookUps } = setting({ allowed: ["U1"] });
    const ask = permit(thread, [asks("U1", 10)]);
    expect(await ask()).toEqual({ action: "allow" });
    changed(20);
    expect(await ask()).toMatchObject({ action: "deny", why: expect.stringContaining("U1") });
    expect(await ask()).toMatchObject({ action: "deny" });
    expect(lookUps()).toBe(1);
    changed(30, "U1");
    expect(await ask()).toEqual({ action: "allow" });
  });

  test("runs as long as one of the people it works for may still ask, and is theirs once one asks anew", async () => {
    const { permit, changed } = setting({ allowed: ["U1", "U2"] });
    const asked = [asks("U1", 10), asks("U2", 11)];
    const ask = permit(thread, asked);
    changed(20, "U2");
    expect(await ask()).toEqual({ action: "allow" });
    changed(30);
    expect(await ask()).toMatchObject({ action: "deny" });
    asked.push(asks("U3", 31));
    expect(await ask()).toEqual({ action: "allow" });
  });

  test("is held back when the platform does not say who the person is", async () => {
    const { permit, changed } = setting({ allowed: ["U1"], fails: true });
    changed(20, "U1");
    expect(await permit(thread, [asks("U1", 10)])()).toMatchObject({
      action: "deny",
      why: expect.stringContaining("does not say"),
    });
  });
});
