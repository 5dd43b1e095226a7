import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import { startFakeOAuth } from "../../fakes/oauth.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "../environment.ts";
import { useSetting } from "../hooks.ts";
import { examine } from "../program.ts";

const here = useSetting();

const heddle = (args: string[], env: Record<string, string> = {}) =>
  here.place.start(args, { REDIS_URL: here.redis.path, ...env });

describe("heddle doctor", () => {
  test("tells each part with its state, and how to make it right", async () => {
    const program = await examine(() => heddle(["doctor"]));
    expect(await program.ended).toBe(0);
    expect(program.output()).toMatch(
      /✓ node[\s\S]*✓ settings[\s\S]*! model +demo[\s\S]*✓ redis[\s\S]*✓ sandbox.*limits tier [123][\s\S]*✓ disk[\s\S]*· slack[\s\S]*· discord[\s\S]*· mcp[\s\S]*✓ skills[\s\S]*· clock/,
    );
  });

  test("tries keys and tokens for real, warns about a misremembered name, and gives it all as JSON", async () => {
    const [model, slack, discord] = await Promise.all([
      startFakeAnthropic(),
      startFakeSlack(),
      startFakeDiscord(),
    ]);
    const environment = {
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.url,
      ANTHROPIC_API_KEY: "sk-wrong-key",
      ANTHROPIC_BASE_URL: model.url,
      ...slackEnvironment(slack),
      DISCORD_BOT_TOKEN: "misremembered",
    };
    const program = await examine(() => heddle(["doctor", "--json"], environment));
    expect(await program.ended).toBe(1);
    const { ok, findings } = JSON.parse(program.output()) as {
      ok: boolean;
      findings: { what: string; level: string; text: string }[];
    };
    expect(ok).toBe(false);
    const of = (what: string) => findings.filter((finding) => finding.what === what);
    expect(of("model")).toMatchObject([{ level: "error", text: expect.stringContaining("was refused") }]);
    expect(of("settings")[1]).toMatchObject({
      level: "warning",
      text: expect.stringMatching(/^DISCORD_BOT_TOKEN/),
    });
    expect(of("slack").map(({ level }) => level)).toEqual(["ok", "ok", "note"]);
    expect(of("discord").map(({ text }) => text)).toContainEqual(
      expect.stringMatching(
        `^Nobody on Discord may give work: .*access\\.discord.* access: .*guilds: \\["${discord.guild.id}"\\]`,
      ),
    );
    expect(of("clock")).toMatchObject([{ level: "ok" }, { level: "ok" }]);
    expect(program.output()).not.toMatch(/sk-wrong-key|misremembered/);
    await Promise.all([model.close(), slack.close(), discord.close()]);
  });

  test("names programs that the skills need and the sandbox lacks", async () => {
    const program = await examine(() =>
      here.place.startWithout("git", ["doctor"], { REDIS_URL: here.redis.path }),
    );
    await program.ended;
    expect(program.output()).toMatch(
      /! sandbox +The sandbox has no git, which is needed by the skills .*changelog/,
    );
  });

  test("names tool chains that cannot be shown to threads, as a start does", async () => {
    const settings = "sandbox: { toolChains: { go: /opt/no-such-go } }\n";
    await writeFile(join(here.place.folder, "heddle.yaml"), settings);
    const said = /The tool chain go is not shown to threads: there is no folder \/opt\/no-such-go\./;
    const program = await examine(() => heddle(["doctor"]));
    await program.ended;
    expect(program.output()).toMatch(new RegExp(`! sandbox +${said.source}`));
    await heddle(["start"]).line(said);
  });

  test("names the model for which the instructions are too large, and a server that wants a login", async () => {
    const [model, oauth] = await Promise.all([
      startFakeAnthropic(),
      startFakeOAuth({ upstream: "http://127.0.0.1:9/mcp" }),
    ]);
    const settings = {
      agent: { instructions: "Be kind to everybody, and say so. ".repeat(580) },
      models: { "anthropic/claude-haiku-4-5": { contextTokens: 16_000, maxOutputTokens: 4_096 } },
    };
    const servers = { mcpServers: { notes: { type: "http", url: oauth.mcp } } };
    await Promise.all([
      writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify(settings)),
      writeFile(join(here.place.folder, "mcp.json"), JSON.stringify(servers)),
    ]);
    const environment = { ...modelEnvironment(model), HEDDLE_MODEL: "anthropic/claude-haiku-4-5" };
    const program = await examine(() => heddle(["doctor"], environment));
    await program.ended;
    expect(program.output()).toMatch(/! mcp +notes: failed, .*login/i);
    expect(program.output()).toMatch(
      /! +(?:mcp +)?anthropic\/claude-haiku-4-5: Prompt and tools take .* the operator's instructions \(/,
    );
    await Promise.all([model.close(), oauth.close()]);
  });

  test("shows settings that cannot be used as its one finding", async () => {
    await writeFile(join(here.place.folder, "heddle.yaml"), "agnet: {}");
    const program = await examine(() => heddle(["doctor"]));
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/^✗ settings .*\n +agnet: unknown key/);
  });

  test("exits with 1 and names the fix when bubblewrap is missing, and a task is told about it", async () => {
    const program = await examine(() =>
      here.place.startWithout("bwrap", ["doctor"], { REDIS_URL: here.redis.path }),
    );
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/✗ sandbox.*bubblewrap.*apt-get install bubblewrap/);
    const model = await startFakeAnthropic({
      replies: (body) => {
        expect(body.tools?.map(({ name }) => name)).not.toContain("bash");
        return { content: [{ type: "text", text: "I have no shell here." }] };
      },
    });
    const run = here.place.startWithout("bwrap", ["run", "list my files"], {
      REDIS_URL: here.redis.path,
      ...modelEnvironment(model),
    });
    expect(await run.ended).toBe(0);
    expect(JSON.stringify(model.bodies[0]?.system)).toContain("apt-get install bubblewrap");
    await model.close();
  });
});
