import { expect, test } from "vitest";
import { splitForDiscord } from "../../src/adapters/discord/markdown/markdown.ts";
import type { Author } from "../../src/chat/inbound.ts";
import { SurfaceError } from "../../src/chat/surface.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";
import { checkPermission } from "../../src/intake/recheck-permission.ts";
import { readDiscord } from "../adapters/discord/read-discord.ts";
import { memoryChat } from "../fakes/memory-chat.ts";

const access = createAccess(settingsSchema.parse({ access: { discord: { roles: ["r1"] } } }).access);

/** Whether Ada's plan is still good where the platform says this of her. */
function asks(thread: string, person?: () => Promise<Author | undefined>, name = "Ada") {
  const { surface } = memoryChat();
  const ada = { id: "U1", name };
  return checkPermission(thread, ada, {
    access,
    surface: () => ({ ...surface, ...(person && { person }) }),
  });
}
/** As the platform says it. */
const is =
  (standing: Author["standing"], roles: string[] = []): (() => Promise<Author>) =>
  () =>
    Promise.resolve({ id: "U1", name: "Ada", standing, roles });

type Case = [thread: string, who: string, may: boolean, person?: () => Promise<Author | undefined>];

test.each<Case>([
  ["slack:T1:C1:1", "a member", true, is("member")],
  ["slack:T1:C1:1", "a guest by now", false, is("guest")],
  ["slack:T1:C1:1", "of another organisation", false, is("external")],
  ["slack:T1:C1:1", "unknown to the platform", false, async () => undefined],
  ["discord:G1:C1:1", "a member with the role", true, is("member", ["r1"])],
  ["discord:G1:C1:1", "a member who has lost the role", false, is("member", ["r2"])],
  ["local:console:main:t", "at the console", true],
])("Whoever has planned work in %s and is %s: may still ask is %s", async (thread, _who, allowed, person) => {
  expect((await asks(thread, person)).allowed).toBe(allowed);
});

test("The sentence for the thread has the name as it is written, whatever it would be as markup", async () => {
  const asked = await asks("discord:G1:C1:1", async () => undefined, "||Ada|| **x**");
  const [said] = splitForDiscord(asked.allowed ? "" : asked.why, 2_000);
  expect(readDiscord(said).shown).toBe("||Ada|| **x** may not give me work here any more.");
});

test("Where the platform shuts us out the plan is void, and where it does not answer it is asked again", async () => {
  const fails = (kind: "forbidden" | "uncertain") => () => Promise.reject(new SurfaceError(kind, "No."));
  expect(await asks("slack:T1:C1:1", fails("forbidden"))).toEqual({ allowed: false, why: "No." });
  await expect(asks("slack:T1:C1:1", fails("uncertain"))).rejects.toThrow("No.");
});
