import { expect, onTestFinished, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { createAccountStore } from "../../../src/queue/stores/mcp-accounts.ts";
import { createPromptIndex } from "../../../src/queue/stores/mcp-prompts.ts";
import { startRedis } from "../../fakes/redis.ts";

const triage = {
  name: "triage",
  description: "Sorts what is new",
  arguments: [{ name: "project", about: "Its short name", required: true }],
};

async function scene() {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const clock = { now: 1_000_000 };
  const client = redis.client();
  const open = () => createPromptIndex(client, () => clock.now);
  return { client, clock, open, worker: open(), gateway: open() };
}

const names = async (list: Promise<{ server: string; name: string }[]>) =>
  (await list).map(({ server, name }) => `${server}/${name}`);

test("What a worker finds, gateways list; of a person's own account that person alone", async () => {
  const { worker, gateway } = await scene();
  await worker.publish({ server: "tickets", prompts: [triage] });
  await worker.publish({ server: "mail", person: "slack:T1:ada", prompts: [{ ...triage, name: "inbox" }] });
  expect(await gateway.list("slack:T1:ada")).toEqual([
    { server: "mail", ...triage, name: "inbox" },
    { server: "tickets", ...triage },
  ]);
  expect(await names(gateway.list("slack:T1:bob"))).toEqual(["tickets/triage"]);
  expect(await names(gateway.list("discord:T1:ada"))).toEqual(["tickets/triage"]);
});

test("A list is replaced, goes with its prompts, and is forgotten when no turn has met its server for a week", async () => {
  const { worker, gateway, clock, client } = await scene();
  await worker.publish({ server: "tickets", prompts: [triage, { ...triage, name: "sum-up" }] });
  await worker.publish({ server: "tickets", prompts: [{ ...triage, name: "sum-up" }] });
  expect(await names(gateway.list("p"))).toEqual(["tickets/sum-up"]);
  await worker.publish({ server: "tickets", prompts: [] });
  expect(await gateway.list("p")).toEqual([]);
  await worker.publish({ server: "tickets", prompts: [triage] });
  expect(await client.pttl(keys.mcpPrompts())).toBeGreaterThan(0);
  clock.now += 6 * 86_400_000;
  await worker.publish({ server: "other", prompts: [triage] });
  clock.now += 2 * 86_400_000;
  expect(await names(gateway.list("p"))).toEqual(["other/triage"]);
});

test("What has not changed is written once an hour, and what is no list costs the others nothing", async () => {
  const { worker, gateway, clock, client } = await scene();
  const prompts = [triage];
  await worker.publish({ server: "tickets", prompts });
  const stored = () => client.hget(keys.mcpPrompts(), "tickets");
  const first = await stored();
  clock.now += 60_000;
  await worker.publish({ server: "tickets", prompts });
  expect(await stored()).toBe(first);
  clock.now += 3_600_000;
  await worker.publish({ server: "tickets", prompts });
  expect(await stored()).not.toBe(first);
  await client.hset(keys.mcpPrompts(), "odd", "{}");
  expect(await names(gateway.list("p"))).toEqual(["tickets/triage"]);
});

test("Prompts of an account go when its person disconnects it, and no others", async () => {
  const { worker, gateway, client } = await scene();
  const accounts = createAccountStore(client, "a secret of the test that is long enough");
  for (const person of ["slack:T1:ada", "slack:T1:bob"])
    for (const server of ["mail", "notes"]) await worker.publish({ server, person, prompts: [triage] });
  await worker.publish({ server: "mail", prompts: [{ ...triage, name: "of-all" }] });
  await accounts.of("slack:T1:ada").remove("mail");
  expect(await names(gateway.list("slack:T1:ada"))).toEqual(["mail/of-all", "notes/triage"]);
  expect(await names(gateway.list("slack:T1:bob"))).toEqual(["mail/of-all", "mail/triage", "notes/triage"]);
  // Connected again, they are there with the next task.
  await worker.publish({ server: "mail", person: "slack:T1:ada", prompts: [triage] });
  expect(await names(gateway.list("slack:T1:ada"))).toContain("mail/triage");
});
