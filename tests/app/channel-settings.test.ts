import { expect, test } from "vitest";
import { channelSettings, listSkillNames } from "../../src/app/channel-settings.ts";
import { settingsSchema } from "../../src/config/schema.ts";

const channelOf = (channel: object) => settingsSchema.parse({ channels: { "slack:T1:C1": channel } });
const thread = "slack:T1:C1:1.5";
const skill = (name: string) => ({ name, description: name, path: `/skills/${name}` });
const library = {
  current: async () => ({ skills: [skill("changelog"), skill("release")], problems: [] }),
} as unknown as Parameters<typeof listSkillNames>[1];

test.each([
  ["nothing", {}, undefined],
  ["tools alone", { tools: ["bash"] }, ["bash"]],
  ["skills beside tools", { tools: ["bash"], skills: ["changelog"] }, ["bash", "get_skill"]],
  [
    "repositories beside tools",
    { tools: ["bash", "open_repository"], repositories: ["shop"] },
    ["bash", "open_repository", "open_pull_request"],
  ],
  ["none of either beside tools", { tools: ["bash"], skills: [], repositories: [] }, ["bash"]],
  ["skills alone", { skills: ["changelog"] }, undefined],
])("a channel that names %s has the tools to use it", (_what, channel, tools) => {
  expect(channelSettings(channelOf(channel), thread).tools).toEqual(tools);
});

test.each([
  ["all where it says nothing", {}, ["changelog", "release"]],
  ["those that it names", { skills: ["changelog"] }, ["changelog"]],
  ["those that it names beside tools", { tools: ["bash"], skills: ["changelog"] }, ["changelog"]],
  ["none where its tools leave out the one that loads them", { tools: ["bash"] }, []],
  ["all where its tools have it", { tools: ["get_*"] }, ["changelog", "release"]],
])("a channel has skills: %s", async (_what, channel, names) => {
  expect(await listSkillNames(channelOf(channel), library, thread)).toEqual(names);
});
