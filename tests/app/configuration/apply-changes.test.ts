import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyChanges } from "../../../src/app/configuration/apply-changes.ts";
import type { Author } from "../../../src/chat/inbound.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import type { AdminChange } from "../../../src/queue/stores/administration-changes.ts";

const by = { id: "UADMIN", name: "admin" };
const ids = ["U1", "U2", "U3"] as const;
const some = fc.subarray([...ids, "T1:U1", "T2:U2"]);
const channel = fc.constantFrom("slack:T1:C1", "slack:T2:C2");
const models = ["a/one", "b/two"];
const budget = fc.oneof(fc.constant({}), fc.record({ cost: fc.integer({ min: 1, max: 9 }) }));

const file = fc.record({
  access: fc.record({
    administrators: some,
    denied: some,
    slack: fc.record({ allow: fc.constantFrom([], ["members"]), users: some }),
  }),
  channels: fc.dictionary(
    channel,
    fc.record({ model: fc.constantFrom(...models), verbosity: fc.constant("full") }),
  ),
  budgets: fc.record({ channels: fc.dictionary(channel, budget) }),
});

const change: fc.Arbitrary<AdminChange> = fc.oneof(
  fc.record({
    setting: fc.constant("person" as const),
    of: fc
      .tuple(fc.constantFrom("T1", "T2"), fc.constantFrom(...ids))
      .map(([team, id]) => `slack:${team}:${id}`),
    value: fc.constantFrom("allow" as const, "deny" as const),
    by: fc.constant(by),
    at: fc.nat(),
  }),
  fc.record({
    setting: fc.constant("model" as const),
    of: channel,
    value: fc.constantFrom(...models, "c/gone"),
    by: fc.constant(by),
    at: fc.nat(),
  }),
  fc.record({
    setting: fc.constant("budget" as const),
    of: channel,
    value: budget,
    by: fc.constant(by),
    at: fc.nat(),
  }),
);

/** As Redis keeps them: one of each setting. */
const changes = fc.uniqueArray(change, { maxLength: 8, selector: ({ setting, of }) => `${setting} ${of}` });

describe("What holds of a file and an administrator's changes", () => {
  test("is the file's denial first, then the change, then the file's lists", () => {
    fc.assert(
      fc.property(file, changes, (written, stored) => {
        const before = settingsSchema.parse(written);
        const copy = structuredClone(before);
        const { settings, ignored } = applyChanges(before, stored, models);
        expect(before).toEqual(copy);
        const access = createAccess(settings.access);
        const byFile = createAccess(before.access);
        const names = (list: readonly string[], team: string, id: string) =>
          list.includes(id) || list.includes(`${team}:${id}`);
        for (const workspace of ["T1", "T2"]) {
          for (const id of ids) {
            const place = { platform: "slack", workspace };
            const author: Author = { id, name: id, standing: "member", roles: [] };
            const said = stored.find(
              ({ of, setting }) => setting === "person" && of === `slack:${workspace}:${id}`,
            );
            const may = access.mayAsk(place, author);
            if (names(before.access.denied, workspace, id)) expect(may).toBe(false);
            else if (names(before.access.administrators, workspace, id)) expect(may).toBe(true);
            else if (said) expect(may).toBe(said.value === "allow");
            else expect(may).toBe(byFile.mayAsk(place, author));
            // Nobody becomes an administrator in chat, or ceases to be one.
            expect(access.mayAdminister(place, author)).toBe(byFile.mayAdminister(place, author));
          }
        }
        for (const { setting, of, value } of stored) {
          if (setting === "budget") expect(settings.budgets.channels[of]).toEqual(value);
          if (setting !== "model") continue;
          const kept = value === "c/gone" ? before.channels[of]?.model : value;
          expect(settings.channels[of]?.model).toBe(kept);
          expect(settings.channels[of]?.verbosity).toBe(before.channels[of]?.verbosity);
        }
        for (const { change: one, why } of ignored) {
          expect(stored).toContain(one);
          expect(why).toMatch(/\.$/);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("is the file alone where nobody has changed anything", () => {
    const settings = settingsSchema.parse({});
    expect(applyChanges(settings, [], [])).toEqual({ settings, ignored: [] });
  });
});
