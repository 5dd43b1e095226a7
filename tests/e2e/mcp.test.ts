import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { repository } from "../agent/mcp/repository.ts";
import { says } from "../fakes/anthropic-replies.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { examine, patienceMs } from "./program.ts";
import { useSetting } from "./hooks.ts";

const here = useSetting();

const everything = join(
  dirname(
    createRequire(join(repository, "package.json")).resolve(
      "@modelcontextprotocol/server-everything/package.json",
    ),
  ),
  "dist/index.js",
);

test("Tools of an MCP server are called with its secrets, a broken server costs only itself, and skills are loaded", async () => {
  const servers = {
    everything: {
      command: "node",
      args: [everything],
      env: { TOKEN: "${MCP_TOKEN}" },
      sandbox: { read: [repository] },
    },
    broken: { command: "no-such-program" },
  };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const model = await startFakeAnthropic();
  model.push(
    {
      content: [
        { type: "tool_use", name: "everything__echo", input: { message: "hello there" } },
        { type: "tool_use", name: "get_skill", input: { name: "csv-report" } },
      ],
    },
    { content: [{ type: "text", text: "Done." }] },
  );
  const env = {
    ...modelEnvironment(model),
    MCP_TOKEN: "mcp-secret-value",
  };
  const program = here.place.start(["run", "echo"], env);
  expect(await program.ended).toBe(0);
  const results = JSON.stringify(model.bodies[1]?.messages.at(-1));
  expect(results).toContain("hello there");
  expect(results).toContain("SKILL_DIR");
  expect(JSON.stringify(model.bodies[0]?.system)).toContain("csv-report");

  const doctor = await examine(() => here.place.start(["doctor"], env));
  expect(doctor.output()).toMatch(
    /mcp +everything: \w+, \d+ tools[\s\S]*! mcp +broken: \w+, 0 tools\. .*; correct its entry in \S+mcp\.json, or disable it[\s\S]*✓ skills/,
  );
  expect(program.output() + doctor.output()).not.toContain("mcp-secret-value");
  await model.close();
});

test("A prompt of a server that a worker has met is chosen at a gateway, on Slack and Discord, and quoted to the model", {
  timeout: 3 * patienceMs,
}, async () => {
  const servers = {
    everything: { command: "node", args: [everything], sandbox: { read: [repository] } },
  };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const [model, slack, discord] = await Promise.all([
    startFakeAnthropic({ replies: () => says("Understood.") }),
    startFakeSlack({ patienceMs }),
    startFakeDiscord(),
  ]);
  onTestFinished(async () => {
    await Promise.all([model.close(), slack.close(), discord.close()]);
  });
  const env = {
    REDIS_URL: here.redis.path,
    ...slackEnvironment(slack),
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.url,
    ...modelEnvironment(model),
  };
  await writeFile(
    join(here.place.folder, "heddle.yaml"),
    JSON.stringify({ access: { discord: { guilds: [discord.guild.id] } } }),
  );
  const gateway = here.place.start(["start", "--role", "gateway"], env);
  const worker = here.place.start(["start", "--role", "worker"], env);
  await Promise.all([gateway.line(/Heddle is ready/), worker.line(/Heddle is ready/)]);

  const [ada, general] = [slack.user("ada"), slack.channel("general")];
  ada.commands(general, "/agent prompt:everything/args-prompt city=Lyon plan my day");
  await slack.until(() => ada.ephemerals().some((text) => text.includes("no prompts are known so far")));
  await ada.says(general, "<@BOT> hello");
  await slack.until(() => general.messages.some(({ text }) => text.includes("Understood.")));
  const asked = model.bodies.length;
  ada.commands(general, '/agent prompt:everything/args-prompt city=Lyon state="the Rhône" plan my day');
  await slack.until(() => general.messages.filter(({ text }) => text.includes("Understood.")).length > 1);
  const first = JSON.stringify(model.bodies[asked]?.messages);
  expect(first).toContain("plan my day");
  expect(first).toContain("The prompt everything/args-prompt of an MCP server, which ada has chosen");
  expect(first).toContain("> What's weather in Lyon, the Rhône?");

  const [bob, place] = [discord.user("bob"), discord.channel("general")];
  expect(await bob.types(place, "template", "args")).toEqual([
    expect.stringMatching(/^everything\/args-prompt city=…: A prompt with two arguments/),
  ]);
  const before = model.bodies.length;
  bob.asks(place, { prompt: "go", template: "everything/args-prompt city=Oslo" });
  await expect.poll(() => model.bodies.length, { timeout: patienceMs }).toBeGreaterThan(before);
  expect(JSON.stringify(model.bodies[before]?.messages)).toContain("> What's weather in Oslo?");

  // What is not written is asked for, in the thread of the task.
  const asks = ({ text }: { text: string }) => /needs `?city/.test(text);
  ada.commands(general, "/agent prompt:everything/args-prompt pack my bag");
  const question = await slack.until(() => general.messages.find(asks));
  const [button = ""] = /heddle_act:prompt:\w+/.exec(JSON.stringify(question.blocks)) ?? [];
  await ada.presses(button, question);
  expect(JSON.stringify(await slack.until(() => ada.modal()))).toContain("Name of the city");
  ada.fillsIn({ city: "Rome" });
  await expect
    .poll(() => JSON.stringify(model.bodies.at(-1)?.messages), { timeout: patienceMs })
    .toMatch(/pack my bag.*> What's weather in Rome\?/s);
  const begun = "has filled in what the prompt `everything/args-prompt` needs, and the task has begun.";
  await slack.until(() => {
    const written = JSON.stringify(question.blocks);
    return written.includes(begun) && !written.includes("heddle_act");
  });
  bob.asks(place, { prompt: "walk", template: "everything/args-prompt" });
  const shown = await discord.until(() =>
    discord
      .threadsOf(place)
      .flatMap(({ messages }) => messages)
      .find(({ content }) => content.includes("needs `city`")),
  );
  const press = bob.presses("Fill in…", shown);
  expect(JSON.stringify(await discord.until(() => press.modal))).toContain("Name of the city");
  bob.fillsIn(press, { city: "Bergen", state: "the coast" });
  await expect
    .poll(() => JSON.stringify(model.bodies.at(-1)?.messages), { timeout: patienceMs })
    .toMatch(/walk.*> What's weather in Bergen, the coast\?/s);
  await discord.until(() => shown.content.includes(begun) && (shown.components ?? []).length === 0);

  const run = (...how: string[]) =>
    here.place.start(["run", "--prompt", "everything/args-prompt", ...how, "go there"], env);
  const lacking = run();
  expect(await lacking.ended).toBe(1);
  expect(lacking.output()).toContain("needs city: write `everything/args-prompt city=…`.");
  expect(await run("--argument=city=New York").ended).toBe(0);
  expect(JSON.stringify(model.bodies.at(-1)?.messages)).toMatch(/go there.*> What's weather in New York\?/s);
});
