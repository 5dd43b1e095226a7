import { expect, test } from "vitest";
import type { Author } from "../../src/chat/inbound.ts";
import { SurfaceError } from "../../src/chat/surface.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";
import { checkPermission } from "../../src/intake/recheck-permission.ts";
import { memoryChat } from "../fakes/memory-chat.ts";

const ada = { id: "U1", name: "Ada" };
const access = createAccess(settingsSchema.parse({ access: { discord: { roles: ["r1"] } } }).access);

/** Whether Ada's plan is still good where the platform says this of her. */
function asks(thread: string, person?: () => Promise<Author | undefined>) {
  const { surface } = memoryChat();
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

type Case = [
  thread: string,
  who: string,
  person: (() => Promise<Author | undefined>) | undefined,
  may: boolean,
];

test.each<Case>([
  ["slack:T1:C1:1", "a member", is("member"), true],
  ["slack:T1:C1:1", "a guest by now", is("guest"), false],
  ["slack:T1:C1:1", "of another organisation", is("external"), false],
  ["slack:T1:C1:1", "unknown to the platform", async () => undefined, false],
  ["discord:G1:C1:1", "a member with the role", is("member", ["r1"]), true],
  ["discord:G1:C1:1", "a member who has lost the role", is("member", ["r2"]), false],
  ["local:console:main:t", "at the console", undefined, true],
])(
  "Whoever has planned work in %s and is %s: may still ask is %4$s",
  async (thread, _who, person, allowed) => {
    expect((await asks(thread, person)).allowed).toBe(allowed);
  },
);

test("Where the platform shuts us out the plan is void, and where it does not answer it is asked again", async () => {
  const fails = (kind: "forbidden" | "uncertain") => () => Promise.reject(new SurfaceError(kind, "No."));
  expect(await asks("slack:T1:C1:1", fails("forbidden"))).toEqual({ allowed: false, why: "No." });
  await expect(asks("slack:T1:C1:1", fails("uncertain"))).rejects.toThrow("No.");
});
